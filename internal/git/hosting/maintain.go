package hosting

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the repositories that wait for a look since a fetch or a push, all and those of one owner. Those beyond wait for their next fetch.
const (
	mostVisited    = 10_000
	mostVisitedOne = mostVisited / 2
)

// visited has the repositories that clients fetched from since the last look at them: packs are combined for those who fetch. Owners take turns, and
// of one owner that repository comes first from which somebody fetched first.
type visited struct {
	mu      sync.Mutex
	known   map[nip34.Address]bool
	waiting fair.Turns[nostr.PubKey, nip34.Address]
}

func (v *visited) add(of nip34.Address) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known[of] || len(v.known) >= mostVisited || len(v.waiting.Waiting(of.PubKey)) >= mostVisitedOne {
		return
	}
	if v.known == nil {
		v.known = map[nip34.Address]bool{}
	}
	v.known[of] = true
	v.waiting.Push(of.PubKey, of)
}

func (v *visited) take() (of nip34.Address, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) == 0 {
		return of, false
	}
	of = v.waiting.Pop()
	delete(v.known, of)
	return of, true
}

// Bounds of the packs of a repository. Each push and each look-up of an object goes through all of them, and each takes three inodes or four.
const (
	manyPacks = 50   // a repository with more waits for a look though nobody fetches from it
	mostPacks = 1000 // one with so many takes only what is under way, until its packs are combined
)

// errManyPacks refuses what comes to a repository with too many packs.
var errManyPacks = reason{ManyPacks, "the repository has as many packs as it may until this server has combined them: push again in a minute"}

// crowded notes a repository whose packs have to be combined, and fails with errManyPacks where that comes first.
func (h *Host) crowded(of nip34.Address, dir refdb.Dir) error {
	if dir.IsZero() {
		return nil
	}
	_, packs, err := h.cfg.Disk.Size(gitrepo.ID(dir))
	if err == nil && packs > manyPacks {
		h.crowd.add(of)
	}
	if err == nil && packs >= mostPacks {
		return errManyPacks
	}
	return err
}

// toLook takes the repository that is looked at next. The queues go first in turns.
func toLook(turn int, queues ...*visited) (of nip34.Address, ok bool) {
	for i := range queues {
		if of, ok = queues[(turn+i)%len(queues)].take(); ok {
			break
		}
	}
	return of, ok
}

const (
	roundEvery = 24 * time.Hour // from the beginning of a look at all repositories until the next one
	roundPart  = 1000           // repositories that are looked at in one step of it at least, so that those that clients visit have their turn
	roundSteps = 20             // in so many steps, one an hour, all of them are
)

// round is a look at all repositories, in parts: what their refs led to may have to go, though nobody fetches from them.
type round struct {
	least int    // repositories in a part
	part  int    // those in each part of the round under way
	after string // the row at which the last part ended; "" between two rounds
	next  time.Time
}

// goOn visits the next part of the repositories with data, if a round is under way or due.
func (r *round) goOn(h *Host, now time.Time, visit func(nip34.Address)) error {
	if r.after == "" && now.Before(r.next) {
		return nil
	}
	v := h.cfg.Store.View()
	defer v.Close()
	if r.after == "" {
		r.next = now.Add(roundEvery)
		all := 0
		err := v.EachRow(refdb.Prefix, "", func(string, []byte) (bool, error) { all++; return true, nil })
		if err != nil {
			return err
		}
		r.part = max(r.least, (all+roundSteps-1)/roundSteps)
	}
	n, last := 0, r.after
	r.after = ""
	return v.EachRow(refdb.Prefix, last, func(name string, row []byte) (bool, error) {
		if n == r.part {
			r.after = last
			return false, nil
		}
		n, last = n+1, name
		if x, err := refdb.Brief(row); err == nil && !x.Dir.IsZero() { // graspd check reports a damaged row
			visit(x.Of)
		}
		return true, nil
	})
}

// maintain combines packs of crowded and visited repositories, one at a time, and removes objects of packs that no manifest has, until ctx ends.
func (h *Host) maintain(ctx context.Context) {
	rest := time.NewTicker(h.cfg.Rest)
	defer rest.Stop()
	compare := h.cfg.Now().Add(compareFirst)
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		if now := h.cfg.Now(); !now.Before(compare) {
			compare = now.Add(compareEvery)
			h.report("objects of packs", h.packs.compare(ctx))
		}
		for ctx.Err() == nil {
			of, ok := toLook(turn, &h.crowd, &h.visited)
			if !ok {
				break
			}
			did, err := h.maintainOne(ctx, of)
			h.report("maintenance", err)
			if did || err != nil {
				break
			}
		}
	}
}

// maintainOne combines the packs of a repository if that is due.
func (h *Host) maintainOne(ctx context.Context, of nip34.Address) (did bool, err error) {
	var r refdb.Repository
	var keep []gitwire.ObjectID
	err = h.reading(func(x *refdb.Reader) (err error) {
		r, keep, err = x.Kept(of)
		return err
	})
	if err != nil || r.Dir.IsZero() {
		return false, err
	}
	if did, err = h.cfg.Disk.Maintain(ctx, gitrepo.ID(r.Dir), r.Shown(), keep, h.cfg.Kept.swap(h.door, h.ledger, &h.quotas, of, r.Dir)); err != nil || !did {
		if errors.Is(err, gitproc.ErrBusy) {
			err = nil // the repository stays due
		}
		return did, err
	}
	h.counts.combined.Add(1)
	_, err = h.measure(ctx, r, func(int64, int64) bool { return true })
	return true, err
}
