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

	unneeded func() error // removes the directory that was prepared, while it is empty
	into     refdb.Dir    // where the packs are; zero before
	undo     func()       // gives back what was counted
}

// arrive has the writer move what a quarantine holds into the repository and serve the events that waited for it. It is work of a party.
func (h *Host) arrive(ctx context.Context, party string, a refdb.Arrival, q gitrepo.Quarantine) (refs.Verdict, error) {
	x := &arriving{h: h, a: a, q: q, unneeded: func() error { return nil }, undo: func() {}}
	if err := x.prepare(); err != nil {
		return refs.Verdict{}, err
	}
	var arrived refdb.Arrived
	err := h.turn(ctx, party, a.Push, func(t *ingest.Exclusive) (err error) {
		if arrived, err = h.ledger.Arrive(t.Turn, x.a); err != nil {
			return err
		}
		return t.Serve(arrived.Release)
	})
	if err == nil && !arrived.Known {
		err = reason{Gone, "the repository went while you pushed: publish its announcement again"}
	}
	x.end(err == nil && arrived.Admitted)
	return arrived.Verdict, err
}

// prepare makes the directory of a repository that has no data yet: nobody is to wait for the disk in the writer's turn.
func (x *arriving) prepare() error {
	dir, err := gitrepo.NewID(x.h.cfg.Rand)
	if err != nil {
		return err
	}
	x.a.Dir, x.a.Admit = refdb.Dir(dir), x.admit
	r, err := readRow(x.h.cfg.Store, x.a.Of)
	if err == nil && r.Dir.IsZero() {
		x.unneeded, err = x.h.cfg.Disk.Prepare(dir)
	}
	return err
}

// admit moves the packs, once, however often the door does that work. Where another push has begun the repository meanwhile, they come there as well.
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

// end does what is left after the turn.
func (x *arriving) end(admitted bool) {
	if !admitted {
		x.undo()
	} else {
		x.h.crowded(x.a.Of, x.into)
	}
	if admitted && x.into == x.a.Dir {
		return
	}
	if err := x.unneeded(); err != nil {
		x.h.cfg.Logger.Warn("a directory that is not needed stays until it is swept out", "error", err)
	}
}
