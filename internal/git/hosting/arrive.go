package hosting

import (
	"context"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// arriving is what a quarantine holds, on its way into a repository.
type arriving struct {
	h *Host
	a refdb.Arrival
	q gitrepo.Quarantine

	decided  func()       // says that a commit has taken the packs that were put, or never will
	unneeded func() error // removes the directory that was prepared
	into     refdb.Dir    // where the packs are; zero before
	undo     func()       // gives back what was counted
}

// arrive has the writer serve what waited for the objects that a quarantine holds, which are in the repository then. It is work of a party.
func (h *Host) arrive(ctx context.Context, party string, a refdb.Arrival, q gitrepo.Quarantine) (refs.Verdict, error) {
	x := &arriving{h: h, a: a, q: q, unneeded: func() error { return nil }, undo: func() {}, decided: func() {}}
	defer func() { x.decided() }()
	if err := x.prepare(ctx); err != nil {
		x.end(false)
		return refs.Verdict{}, err
	}
	var arrived refdb.Arrived
	decided := false
	err := h.turn(ctx, party, a.Push, func(t *ingest.Exclusive) (err error) {
		decided = false
		if arrived, err = h.ledger.Arrive(t.Turn, x.a); err == nil {
			err = t.Serve(arrived.Release)
		}
		decided = err == nil
		return err
	})
	if err != nil && decided { // the commit has failed, and may be on disk: the next start sees whether the directory is needed
		x.unneeded = func() error { return nil }
	}
	if err == nil && !arrived.Known {
		err = reason{Gone, "the repository went while you pushed: publish its announcement again"}
	}
	x.end(err == nil && arrived.Admitted)
	return arrived.Verdict, err
}

// prepare puts the packs where they are kept, and moves them into the repository, whose directory it makes where there is no data yet: nobody is to wait
// for the disk in the writer's turn.
func (x *arriving) prepare(ctx context.Context) (err error) {
	if x.a.Packs, x.decided, err = x.h.cfg.Kept.put(ctx, x.q); err != nil {
		return err
	}
	dir, err := gitrepo.NewID(x.h.cfg.Rand)
	if err != nil {
		return err
	}
	x.a.Dir, x.a.Admit = refdb.Dir(dir), x.admit
	r, err := readRow(x.h.cfg.Store, x.a.Of)
	if err != nil {
		return err
	}
	if r.Dir.IsZero() {
		r.Dir = x.a.Dir
		unneeded, err := x.h.cfg.Disk.Prepare(dir)
		if err != nil {
			return err
		}
		x.unneeded = unneeded
	}
	return x.admit(r.Dir)
}

// admit moves the packs, once, however often the door does that work. Where the repository has another directory by the turn, they come there as well.
func (x *arriving) admit(to refdb.Dir) (err error) {
	if x.into == to {
		return nil
	}
	x.undo()
	if x.undo, err = x.h.quotas.countIn(x.a.Of.PubKey, to == x.a.Dir, x.a.Bytes); err != nil {
		return err
	}
	err = x.h.cfg.Disk.Admit(x.q, gitrepo.ID(to))
	if err == nil {
		x.into = to
	}
	return err
}

// end does what is left after the turn. What comes in that a turn refuses is like what no ref leads to any more: maintenance finds it.
func (x *arriving) end(admitted bool) {
	switch {
	case admitted:
		_ = x.h.crowded(x.a.Of, x.into) // what comes next hears of it
	case !x.into.IsZero():
		x.h.visited.add(x.a.Of)
		fallthrough
	default:
		x.undo()
	}
	if admitted && x.into == x.a.Dir {
		return
	}
	if err := x.unneeded(); err != nil {
		x.h.cfg.Logger.Warn("a directory that is not needed stays until it is swept out", "error", err)
	}
}
