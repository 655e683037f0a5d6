package relay

import (
	"context"
	"fmt"
	"sync"

	"graspd/internal/nostr"
	"graspd/internal/store"
)

// readAhead is how many entries of the feed are read at once.
const readAhead = 256

// dispatcher reads the feed for all sessions and hands each added event to those with a subscription that it matches.
// It waits for nobody: what a session does with it is the session's affair.
type dispatcher struct {
	store *store.Store

	mu    sync.Mutex // held while one event is matched
	index *index     // guarded by mu

	// Owned by run.
	after   store.Seq  // all entries up to this one are handed out
	touched []*session // those with hits on the event in hand
}

// liveEvent is one entry of the feed on its way to sessions, which share it.
type liveEvent struct {
	seq  store.Seq
	json []byte
}

// newDispatcher hands out what comes after the present head.
func newDispatcher(st *store.Store) *dispatcher {
	return &dispatcher{store: st, index: newIndex(), after: st.Head()}
}

// add begins to match the subscription. A View taken afterwards shows every event that was handed out before.
func (d *dispatcher) add(sub *subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range sub.filters {
		d.index.add(f)
	}
	sub.indexed = true
}

// remove ends it. It does nothing for a subscription that was not added.
func (d *dispatcher) remove(sub *subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !sub.indexed {
		return
	}
	for _, f := range sub.filters {
		d.index.remove(f)
	}
	sub.indexed = false
}

// run follows the feed until ctx ends, or the store cannot be read.
func (d *dispatcher) run(ctx context.Context) error {
	for ctx.Err() == nil {
		entries, changed, err := d.store.Since(d.after, readAhead)
		if err != nil {
			return fmt.Errorf("read the feed: %w", err)
		}
		for _, e := range entries {
			if e.Event != nil {
				d.deliver(e.Seq, e.Event)
			}
			d.after = e.Seq
		}
		if len(entries) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

func (d *dispatcher) deliver(seq store.Seq, e *nostr.Event) {
	d.match(seq, newSubject(e))
	if len(d.touched) == 0 {
		return
	}
	ev := &liveEvent{seq: seq, json: e.AppendJSON(nil)}
	for i, s := range d.touched {
		s.deliver(ev, s.hits)
		clear(s.hits)
		s.hits = s.hits[:0]
		d.touched[i] = nil
	}
	d.touched = d.touched[:0]
}

// match gathers the sessions that the event concerns in touched, and their subscriptions in hits.
func (d *dispatcher) match(seq store.Seq, x *subject) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.candidates(x, func(f *liveFilter) {
		if f.sub.hit == seq || !f.matches(x) {
			return
		}
		f.sub.hit = seq
		s := f.sub.session
		if len(s.hits) == 0 {
			d.touched = append(d.touched, s)
		}
		s.hits = append(s.hits, f.sub)
	})
}
