package hosting

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// follower queues the repositories whose rows commits change. attend owns it.
type follower struct {
	at   uint64 // the number of the last change that it has seen
	more <-chan struct{}
}

// take queues the repositories that have changed since the last call; where too many have, all whose files are due.
func (f *follower) take(h *Host) error {
	names, at, all, more := h.cfg.Store.Changes(f.at)
	f.at, f.more = at, more
	switch {
	case all:
		return h.catchUp()
	case len(names) == 0:
		return nil
	}
	v := h.cfg.Store.View()
	defer v.Close()
	var failed error
	for _, name := range names {
		if !strings.HasPrefix(name, refdb.Prefix) {
			continue
		}
		row, err := v.Row(name)
		if err != nil || row == nil { // nil: the repository is gone
			failed = errors.Join(failed, err)
			continue
		}
		r, err := refdb.Brief(row)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		tellFirst(h.cfg.Logger, r)
		h.jobs.push(job{kind: changed, of: r.Of})
	}
	return failed
}

// catchUp queues the repositories whose files are not as the log says.
func (h *Host) catchUp() error {
	v := h.cfg.Store.View()
	defer v.Close()
	return v.EachRow(refdb.DuePrefix, "", func(_ string, value []byte) (bool, error) {
		of, err := grasp.ParseHosted(string(value))
		if err != nil {
			return false, fmt.Errorf("repository whose files are due: %w", err)
		}
		h.jobs.push(job{kind: changed, of: of})
		return true, nil
	})
}

// resume serves the events whose git data is complete here although they wait, as a kill between the data and the commit leaves them.
func (h *Host) resume(ctx context.Context) error {
	v := h.cfg.Store.View()
	ds, err := refdb.Waiting(v)
	v.Close()
	for _, d := range ds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !complete(h, d) {
			continue
		}
		err = errors.Join(err, h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
			ids, err := h.ledger.Complete(t.Turn, d)
			if err != nil {
				return err
			}
			return t.Serve(ids)
		}))
	}
	return err
}

// complete reports whether the writer has anything to serve under an identifier, or has to find that out.
func complete(h *Host, d string) (is bool) {
	err := h.reading(func(r *refdb.Reader) (err error) {
		is, err = r.Complete(d)
		return err
	})
	return is || err != nil
}
