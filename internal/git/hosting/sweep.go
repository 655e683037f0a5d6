package hosting

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// sweep removes the repositories whose announcements went long ago, and the directories that no row names.
func (h *Host) sweep(ctx context.Context) error {
	before := h.cfg.Now().Add(-goneFor).Unix()
	var gone []nip34.Address
	known := map[refdb.Dir]bool{}
	v := h.cfg.Store.View()
	err := v.EachRow(refdb.Prefix, "", func(_ string, row []byte) (bool, error) {
		r, err := refdb.Parse(row)
		known[r.Dir] = true
		if err == nil && r.Gone != 0 && r.Gone < before && !(h.cfg.Keeps != nil && h.cfg.Keeps(r.Of)) {
			gone = append(gone, r.Of)
		}
		return ctx.Err() == nil, err
	})
	v.Close()
	if err != nil || ctx.Err() != nil {
		return err
	}
	for _, of := range gone {
		err = errors.Join(err, h.remove(ctx, of, before))
	}
	return errors.Join(err, h.cfg.Disk.Sweep(ctx, func(id gitrepo.ID) bool { return known[refdb.Dir(id)] }))
}

func (h *Host) remove(ctx context.Context, of nip34.Address, before int64) error {
	var r refdb.Repository
	var ok bool
	err := h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) (err error) {
		r, ok, err = h.ledger.Remove(t.Turn, of, before)
		return err
	})
	if err != nil || !ok || r.Dir.IsZero() {
		return err
	}
	h.quotas.add(of.PubKey, -1, -r.Bytes)
	h.cfg.Logger.Info("repository removed", "repository", of.String(), "after", h.cfg.Now().Sub(time.Unix(r.Gone, 0)))
	return h.cfg.Disk.Remove(gitrepo.ID(r.Dir))
}
