package hosting

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Contributed calls do with each contributed repository that has had a push.
func (h *Host) Contributed(ctx context.Context, do func(nip34.Address) error) error {
	if !h.cfg.Contributors {
		return nil
	}
	v := h.cfg.Store.View()
	defer v.Close()
	return v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		r, err := refdb.Parse(row)
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		if grasp.IsContributed(r.Of) {
			err = do(r.Of)
		}
		return ctx.Err() == nil, err
	})
}

// nearerContributed has the tips copied back that a contributed repository has lost and announced repositories have here, and takes them out
// of lack, so that nobody asks other servers for them.
func (h *Host) nearerContributed(v *store.View, lack *refdb.Lack) error {
	needs := lack.Needs[:0]
	for _, n := range lack.Needs {
		_, ok, err := objects{h.cfg.Disk, h.cfg.Kept, h.cfg.Logger}.announcedWith(v, n)
		if err != nil {
			return err
		}
		if ok {
			h.copies.push(job{kind: lost, of: lack.Of})
		} else {
			needs = append(needs, n)
		}
	}
	lack.Needs = needs
	return nil
}

// announcedWith returns an announced repository here that has the tip of a served pull request.
func (o objects) announcedWith(v *store.View, n refdb.Need) (r refdb.Repository, ok bool, err error) {
	e, ok, err := v.Get(n.Event)
	if err != nil || !ok {
		return r, false, err
	}
	for _, of := range nip34.Repositories(e) {
		if r, err = refdb.Read(v, of); err != nil {
			return r, false, err
		}
		if r.Refs.PullRequests.Get(refs.TipName(n.Event)) != n.IDs[0] {
			continue
		}
		missing, err := o.Missing(v, r.Dir, n.IDs)
		if err != nil || len(missing) == 0 {
			return r, err == nil, err
		}
	}
	return r, false, nil
}

// restore copies the lost tips of a contributed repository from the announced repositories that have them.
func (h *Host) restore(ctx context.Context, of nip34.Address, by copier) error {
	from, back, err := h.restorable(ctx, of)
	for i := range from {
		err = errors.Join(err, h.mirrorTo(ctx, from[i], back[i], by))
	}
	return err
}

// restorable returns the announced repositories that have lost tips of a contributed one, and which tips.
func (h *Host) restorable(ctx context.Context, of nip34.Address) (from []refdb.Repository, back []refdb.Mirror, err error) {
	v := h.cfg.Store.View()
	defer v.Close()
	lack, err := h.ledger.Reader(v, h.door.Rules(), h.cfg.Now()).Lacks(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	at := map[nip34.Address]int{}
	for _, n := range lack.Needs {
		r, ok, err := objects{h.cfg.Disk, h.cfg.Kept, h.cfg.Logger}.announcedWith(v, n)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		i, ok := at[r.Of]
		if !ok {
			i = len(from)
			at[r.Of] = i
			from, back = append(from, r), append(back, refdb.Mirror{To: lack.Repository})
		}
		back[i].Events, back[i].Tips = append(back[i].Events, n.Event), append(back[i].Tips, n.IDs...)
	}
	return from, back, nil
}
