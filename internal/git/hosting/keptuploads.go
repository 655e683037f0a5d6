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

// heldBefore returns the uploads that the last term has held.
func heldBefore(c Config) (all []refdb.Upload, err error) {
	if c.Kept == nil {
		return nil, nil
	}
	v := c.Store.View()
	defer v.Close()
	return all, v.EachRow(refdb.UploadPrefix, "", func(name string, row []byte) (bool, error) {
		u, err := refdb.ParseUpload(name, row)
		all = append(all, u)
		return true, err
	})
}

// reopen holds uploads again that the last term has held. It returns those that may be held later: the object store does not answer.
func (h keeper) reopen(ctx context.Context, all []refdb.Upload) (left []refdb.Upload) {
	for _, u := range all {
		err := error(errLate)
		if h.cfg.Now().Unix() < u.Until {
			err = h.reopenOne(ctx, u)
		}
		switch {
		case err == nil:
		case hopeless(err), errors.Is(err, depot.ErrDamaged), errors.Is(err, errLate):
			h.cfg.Logger.Warn("commits that waited for their events are dropped", "repository", u.Of.String(), "error", err)
			h.report("uploads", h.forget(ctx, u.RowName()))
		default:
			h.report("commits that wait for their events", err)
			left = append(left, u)
		}
	}
	return left
}

// errLate says that an upload waits no longer.
var errLate = errors.New("their time is over")

// forget drops a row.
func (h keeper) forget(ctx context.Context, row string) error {
	if row == "" {
		return nil
	}
	return h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error { return h.ledger.Forget(t.Turn, []string{row}) })
}

func (h keeper) reopenOne(ctx context.Context, u refdb.Upload) (err error) {
	r, err := readRow(h.cfg.Store, u.Of)
	if err != nil {
		return err
	}
	q, err := h.cfg.Kept.Local.BeginWith(ctx, gitrepo.ID(r.Dir), u.Packs)
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
	x := &upload{of: u.Of, q: q, tips: u.Tips, party: u.Network, row: u.RowName()}
	_, x.disk = begin(context.Background(), h.unfinished, fair.Party{Network: u.Network, Owner: u.Of.PubKey.String()}, nil)
	x.disk.whole()
	x.disk.Grow(q.Bytes()) // where there is no room it is held all the same: it was so before
	var n uint64
	var came []nostr.ID
	err = h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) (err error) {
		h.uploads.take(n) // the work is done anew
		if n, came, err = h.ledger.Reopen(t.Turn, u, q.Bytes()); err == nil {
			h.uploads.put(n, x, func(bytes int64) int64 { return bytes })
		}
		return err
	})
	if err != nil {
		h.uploads.take(n)
		x.disk.GiveBack()
		return err
	}
	for _, id := range came {
		h.adopts.push(job{kind: found, of: u.Of, upload: n, event: id})
	}
	return nil
}
