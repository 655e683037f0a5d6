package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// holding is the row of an upload that is about to be held, where packs are kept in an object store.
type holding struct {
	row  *refdb.Upload // nil where none is written
	done func()        // the row is written, or never will be
}

// holding puts what an upload has where packs are kept.
func (p *push) holding(ctx context.Context, q gitrepo.Quarantine) (x holding, err error) {
	x.done = func() {}
	if p.h.cfg.Kept == nil {
		return x, nil
	}
	x.row = &refdb.Upload{Of: p.call.Of, Network: p.call.Network, Until: p.h.cfg.Now().Unix() + int64(refs.PendingFor.Seconds())}
	if _, err := io.ReadFull(p.h.cfg.Rand, x.row.Name[:]); err != nil {
		return x, err
	}
	var packs []refdb.Pack
	packs, x.done, err = p.h.cfg.Kept.put(ctx, q)
	x.row.Packs = packs
	return x, err
}

// hold writes the row, with the tips that stay.
func (x holding) hold(t *ingest.Exclusive, l *refdb.Ledger, tips []refs.Tip) error {
	if x.row == nil || len(tips) == 0 {
		return nil
	}
	row := *x.row
	row.Tips = tips
	return l.Hold(t.Turn, row)
}

// name is the name of the row; "" where there is none.
func (x holding) name() string {
	if x.row == nil {
		return ""
	}
	return x.row.RowName()
}

// reopening holds uploads again that the last term has held. Only the goroutine that hears what commits mean for uploads uses it.
type reopening struct {
	left []refdb.Upload // those that are still to be held

	c          Config
	uploads    *uploads
	unfinished *fair.Account
	adopts     *jobs
}

func newReopening(h *Host) (x reopening, err error) {
	x = reopening{c: h.cfg, uploads: &h.uploads, unfinished: h.unfinished, adopts: &h.adopts}
	if x.c.Kept == nil {
		return x, nil
	}
	v := x.c.Store.View()
	defer v.Close()
	return x, v.EachRow(refdb.UploadPrefix, "", func(name string, row []byte) (bool, error) {
		u, err := refdb.ParseUpload(name, row)
		x.left = append(x.left, u)
		return true, err
	})
}

// reopen holds what can be held. What is left may be held later: the object store does not answer.
func (x *reopening) reopen(ctx context.Context) (errs error) {
	left := x.left
	x.left = nil
	for _, u := range left {
		err := error(errLate)
		if x.c.Now().Unix() < u.Until {
			err = x.one(ctx, u)
		}
		switch {
		case err == nil:
		case hopeless(err), errors.Is(err, depot.ErrDamaged), errors.Is(err, errLate):
			x.c.Logger.Warn("commits that waited for their events are dropped", "repository", u.Of.String(), "error", err)
			errs = errors.Join(errs, forget(ctx, x.c.Door, x.c.Ledger, u.RowName()))
		default:
			errs = errors.Join(errs, err)
			x.left = append(x.left, u)
		}
	}
	return errs
}

// errLate says that an upload waits no longer.
var errLate = errors.New("their time is over")

// forget drops a row.
func forget(ctx context.Context, door *ingest.Door, l *refdb.Ledger, row string) error {
	if row == "" {
		return nil
	}
	return door.Exclusively(ctx, "", func(t *ingest.Exclusive) error { return l.Forget(t.Turn, []string{row}) })
}

func (x *reopening) one(ctx context.Context, u refdb.Upload) (err error) {
	r, err := readRow(x.c.Store, u.Of)
	if err != nil {
		return err
	}
	q, err := x.c.Kept.Local.BeginWith(ctx, gitrepo.ID(r.Dir), u.Packs)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.Close())
		}
	}()
	proving := gitrepo.Proving{Haves: r.Refs.All().IDs(), Party: u.Network}
	for _, t := range u.Tips {
		proving.Commits = append(proving.Commits, t.ID)
	}
	if _, err := q.Prove(ctx, proving); err != nil {
		return fmt.Errorf("what was pushed to %s: %w", u.Of, err)
	}
	held := &upload{of: u.Of, q: q, tips: u.Tips, party: u.Network, row: u.RowName()}
	_, held.disk = begin(context.Background(), x.unfinished, fair.Party{Network: u.Network, Owner: u.Of.PubKey.String()}, nil)
	held.disk.whole()
	held.disk.Grow(q.Bytes()) // where there is no room it is held all the same: it was so before
	var n uint64
	var came []nostr.ID
	err = x.c.Door.Exclusively(ctx, "", func(t *ingest.Exclusive) (err error) {
		x.uploads.take(n) // the work is done anew
		if n, came, err = x.c.Ledger.Reopen(t.Turn, u, q.Bytes()); err == nil {
			x.uploads.put(n, held, func(bytes int64) int64 { return bytes })
		}
		return err
	})
	if err != nil {
		x.uploads.take(n)
		held.disk.GiveBack()
		return err
	}
	for _, id := range came {
		x.adopts.push(job{kind: found, of: u.Of, upload: n, event: id})
	}
	return nil
}
