package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	maxPacks  = 8                   // more are combined
	maxClones = 2                   // so many packs made of more than one are reason enough to combine them
	kept      = 14 * 24 * time.Hour // for how long objects stay that nothing leads to
)

// maintenance is the work on one repository.
type maintenance struct {
	d      *Disk
	repo   ID
	dir    string   // where the packs are combined
	old    []string // packs that are there at its beginning
	begun  int      // quarantines before it
	again  bool     // one of the old packs was admitted anew
	more   bool     // another pack was admitted
	due    bool     // something that refs led to may have to go
	fresh  []string // packs afterwards
	swaps  Swap     // nil: the directory says which packs there are
	expire int64    // objects that nothing leads to, and that are older, go; seconds since 1970
}

// admitted notes that a pack came in. The caller holds the repository's lock.
func (m *maintenance) admitted(pack string) {
	if slices.Contains(m.old, pack) {
		m.again = true
	} else {
		m.more = true
	}
}

// Combined is what packs were combined to, before it takes their place.
type Combined struct {
	Old   []refdb.PackName
	Fresh []Packed
	// May reports whether the old packs may go: nobody counts on an object that goes with them. What it reports holds until the Swap ends.
	May func() bool
}

// Swap puts what was combined in the place of the old packs, by a commit, and reports whether that is so. Where it fails, nobody knows.
type Swap func(context.Context, Combined) (bool, error)

// Maintain combines the packs of a repository if there are many of them, or if fetches suffer. Maintain drops objects to which no refs of the
// repository have led for two weeks and keep does not lead, and reports in did whether it did anything. Readers lose nothing that they need.
// With a depot, swap makes the change.
func (d *Disk) Maintain(ctx context.Context, repo ID, refs *gitwire.Refs, keep []gitwire.ObjectID, swap Swap) (did bool, err error) {
	if err := d.watch(repo); err != nil {
		return false, err
	}
	m, end, err := d.begins(repo)
	if m == nil || err != nil {
		return false, err
	}
	defer end()
	m.swaps = swap
	if did, err = m.combine(ctx, refs, keep); err != nil {
		err = fmt.Errorf("combining packs of repository %s: %w", repo, err)
		if there, e := d.dir.exists(repo); e == nil && !there {
			err = nil // removed meanwhile
		}
	}
	if m.dir != "" {
		err = errors.Join(err, d.dir.root.RemoveAll(m.dir))
	}
	return did && err == nil, err
}

// begins notes which packs are there before they are combined; nil where there is nothing to do. The caller calls the returned function
// when the work is over.
func (d *Disk) begins(repo ID) (*maintenance, func(), error) {
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	if r.maintenance != nil {
		return nil, nil, nil
	}
	if err := d.inUse.unlinkGone(repo, r); err != nil { // what a kill left
		return nil, nil, err
	}
	old, n, err := d.packs.combinable(repo)
	if err != nil {
		return nil, nil, err
	}
	due, err := d.due(repo)
	due = due && d.settled(repo, r)
	if err != nil || !due && n <= maxPacks && d.clones.of(repo) < maxClones {
		return nil, nil, err
	}
	if n < 2 && !due {
		if due, err := d.packs.lacksBitmap(repo, old, d.worth); !due || err != nil {
			return nil, nil, err
		}
	}
	unfinished, err := d.packs.unfinished(repo)
	if err == nil {
		err = d.packs.clean(repo, d.now())
	}
	if err == nil {
		err = d.discard(repo, unfinished)
	}
	if err == nil && due {
		err = d.tried(repo)
	}
	if err != nil {
		return nil, nil, err
	}
	m := &maintenance{d: d, repo: repo, old: old, due: due, expire: d.now().Add(-kept).Unix()}
	d.inUse.hold(repo)
	d.inUse.mu.Lock()
	defer d.inUse.mu.Unlock()
	r.maintenance, m.begun = m, r.begun
	if r.quarantines > 0 {
		m.expire = 1 // what comes in may build on anything
	}
	return m, func() {
		r.change.Lock()
		r.maintenance = nil
		r.change.Unlock()
		d.inUse.release(repo, r)
	}, nil
}

// settled reports whether what nothing leads to may go: nothing that comes in may build on it, and it is known of what somebody was told.
func (d *Disk) settled(repo ID, r *repository) bool {
	_, all := d.confirmed.of(repo)
	d.inUse.mu.Lock()
	defer d.inUse.mu.Unlock()
	return all && r.quarantines == 0
}
