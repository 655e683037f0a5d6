package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// kept is how many snapshots stay.
const kept = 2

// Trimmed says what Trim has removed.
type Trimmed struct {
	Below   uint64 // the position of the older of the snapshots that stay; 0 where there are not enough of them
	Commits int
	Objects int // of older snapshots
}

// Trim removes what nobody needs any more beside the two newest snapshots that count: the log below the older one, and older snapshots. at is the
// place of a store that has all of the log, or had it once.
func Trim(ctx context.Context, o objects.Store, at store.Place) (t Trimmed, err error) {
	o = objects.Patient{Store: o}
	all, _, err := All(ctx, o)
	if err != nil || len(all) < kept {
		return t, err
	}
	older := all[kept-1]
	if older.Place.Position > at.Position {
		return t, nil // the store is behind
	}
	t.Below = older.Place.Position
	if t.Commits, err = bucketlog.New(o).Trim(ctx, commitlog.Position(t.Below), commitlog.Position(at.Began)); err != nil {
		return t, err
	}
	t.Objects, err = sweep(ctx, o, all[:kept])
	return t, err
}

// sweep removes all of snapshots before those that stay: first their lists, so that no list is there without its files.
func sweep(ctx context.Context, o objects.Store, stay []Snapshot) (removed int, err error) {
	below := stay[len(stay)-1].Place.Position
	for _, prefix := range []string{listPrefix, filePrefix} {
		there, err := listed(ctx, o, prefix)
		if err != nil {
			return removed, err
		}
		for _, x := range there {
			if at, ok := positionOf(x.Name); !ok || at >= below || ofAny(stay, x.Name) {
				continue
			}
			if err := o.Delete(ctx, x.Name); err != nil {
				return removed, fmt.Errorf("remove old snapshots: %w", err)
			}
			removed++
		}
	}
	return removed, nil
}

func ofAny(stay []Snapshot, name string) bool {
	for _, s := range stay {
		if name == s.name() || strings.HasPrefix(name, s.under) {
			return true
		}
	}
	return false
}

// Newest returns the newest snapshot that counts. It fails with ErrNone where there is none.
func Newest(ctx context.Context, o objects.Store) (Snapshot, error) {
	all, wrong, err := All(ctx, o)
	switch {
	case err != nil:
		return Snapshot{}, err
	case len(all) == 0:
		return Snapshot{}, errors.Join(append([]error{ErrNone}, wrong...)...)
	}
	return all[0], nil
}

// Any reports whether an object store has anything of snapshots, also of such that were never complete.
func Any(ctx context.Context, o objects.Store) (bool, error) {
	page, err := objects.Patient{Store: o}.List(ctx, "snapshot", "", 1)
	return len(page) > 0, err
}
