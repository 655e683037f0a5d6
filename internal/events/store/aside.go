package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// PutAside takes a stored event out, as Remove does, and keeps it under that case. PutAside returns the event, nil where that is not
// stored.
func (b *Batch) PutAside(id nostr.ID, of uint64) (e *nostr.Event, err error) {
	r := b.reader()
	_, at, ok, err := r.Lookup(id)
	if err != nil || !ok {
		return nil, err
	}
	value, ok, err := index.Get(b.w, layout.LogKey(at.Seq))
	if err == nil && !ok {
		err = fmt.Errorf("entry %d is indexed and not there: %w", at.Seq, layout.ErrCorrupt)
	}
	if err == nil {
		e, err = r.Event(at.Seq)
	}
	if err == nil {
		err = b.set(layout.AsideKey(of, at.Seq), value)
	}
	if err == nil {
		err = b.takeOut(e, at, layout.ReasonBarred)
	}
	if err != nil {
		return nil, fmt.Errorf("put %s aside: %w", id, err)
	}
	return e, nil
}

// Aside returns up to max events that the store keeps under a case, behind the entry after, in the order in which they had been stored.
func (v *View) Aside(of uint64, after layout.Seq, max int) ([]layout.Entry, error) {
	return v.Reader().Aside(of, after, max)
}

// DropAside forgets an event that the store keeps under a case. DropAside does nothing where there is none.
func (b *Batch) DropAside(of uint64, s layout.Seq) error {
	b.ops++
	return b.delete(layout.AsideKey(of, s))
}

// EndWaitsOf ends the waits of all events of an author for git data, and remembers the events as refused.
func (ws *waits) EndWaitsOf(author nostr.PubKey) error {
	var ids []nostr.ID
	err := ws.EachWaitOf(author, func(w layout.Waiting) error { ids = append(ids, w.Event.ID); return nil })
	for _, id := range ids {
		if err == nil {
			err = ws.EndWait(id, policy.Refuse)
		}
	}
	return err
}
