package hosting

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// restoredAtOnce is how many repositories are made anew at once.
const restoredAtOnce = 16

// Ready makes the disk such that everything can be decided with it, before anybody decides: the repositories whose packs lie on the disk alone are put
// into the object store, and each gets a manifest; of those whose directories are not here, or not whole, indexes of packs and files of refs come.
// The packs themselves come when somebody reads them. progress hears how many repositories are done; nil is nobody. Where Ready fails, it goes on
// where it was with the next call.
func (k *Kept) Ready(ctx context.Context, s *store.Store, progress func(done, all int)) error {
	var all []refdb.Repository
	v := s.View()
	err := v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		r, err := refdb.Parse(row)
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		if !r.Dir.IsZero() {
			all = append(all, r)
		}
		return true, context.Cause(ctx)
	})
	v.Close()
	if err != nil {
		return err
	}
	x := &readying{k: k, s: s}
	done := 0
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(restoredAtOnce)
	for _, r := range all {
		work.Go(func() error {
			if err := x.one(ctx, r); err != nil {
				return err
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if done++; progress != nil {
				progress(done, len(all))
			}
			return nil
		})
	}
	return work.Wait()
}

// readying is a call of Ready.
type readying struct {
	k *Kept
	s *store.Store

	mu sync.Mutex // held by who writes to the store, or tells how far it is
}

func (x *readying) one(ctx context.Context, r refdb.Repository) error {
	v := x.s.View()
	row, err := v.Row(refdb.ManifestName(r.Dir))
	v.Close()
	if err == nil && row == nil {
		err = x.adopt(ctx, r)
	}
	if err == nil {
		err = x.k.settle(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("repository %s: %w", r.Of, err)
	}
	return nil
}

// adopt puts the packs of a repository that has no manifest, which then has one.
func (x *readying) adopt(ctx context.Context, r refdb.Repository) error {
	packs, err := x.k.disk.Packed(gitrepo.ID(r.Dir))
	if err != nil || len(packs) == 0 {
		return err
	}
	put, done, err := x.k.Depot.Put(ctx, packs)
	if err != nil {
		return err
	}
	defer done()
	x.mu.Lock()
	defer x.mu.Unlock()
	b, err := x.s.Begin()
	if err != nil {
		return err
	}
	if err = refdb.Adopt(b, r, put); err == nil {
		_, err = b.Commit()
	}
	if err != nil {
		b.Discard()
	}
	return err
}
