package relay

import (
	"context"
	"fmt"
	"sync"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// readAhead is how many entries of the feed the dispatcher reads at once.
const readAhead = 256

// What the dispatcher does for a session on account of one event. Beyond that the session's own writer does it, and pays.
const (
	stepsBeside = 4  // of matching one filter
	freeLooks   = 64 // filters that are looked at
)

// dispatcher reads the feed for all sessions, and hands each added event to the sessions with a subscription that matches. It never waits
// for a session. Everybody waits for it, so what is much work it leaves to the writers of the sessions, who pay for that.
type dispatcher struct {
	store  *store.Store
	faults *contain.Faults

	mu    sync.Mutex // held while the dispatcher matches one event
	index *index     // guarded by mu

	// Owned by run.
	after   store.Seq  // all entries up to this one are handed out
	touched []*session // sessions with hits on the event in hand
	heavy   bool       // some of the hits are to be found out
	at      *session   // the session whose filter or queue is in hand
}

// liveEvent is one entry of the feed on its way to sessions, which share it.
type liveEvent struct {
	seq     store.Seq
	json    []byte
	subject *subject // nil where no subscription is still to find out whether it matches
}

// hit is a subscription that an event concerns, or may concern, as finding out is too much work for the dispatcher.
type hit struct {
	sub   *subscription
	maybe bool
}

// newDispatcher makes a dispatcher for the entries after the present head of the feed.
func newDispatcher(st *store.Store, faults *contain.Faults) *dispatcher {
	return &dispatcher{store: st, faults: faults, index: newIndex(), after: st.Head()}
}

// add begins to match the subscription. A View taken afterwards shows every event that the dispatcher handed out before.
func (d *dispatcher) add(sub *subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range sub.filters {
		d.index.add(f)
	}
	sub.indexed = true
}

// remove ends the matching of a subscription. It does nothing for one that was not added.
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

// listens reports whether there is any live filter. While there is none, as on a relay that fills, events need not be made ready to be matched.
func (d *dispatcher) listens() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.index.empty()
}

func (d *dispatcher) deliver(seq store.Seq, e *nostr.Event) {
	if !d.listens() {
		return
	}
	x := newSubject(e)
	d.heavy = false
	d.contained(func() { d.match(seq, x) })
	if len(d.touched) == 0 {
		return
	}
	ev := &liveEvent{seq: seq, json: e.AppendJSON(nil)}
	if d.heavy {
		ev.subject = x
	}
	left := d.touched
	d.contained(func() {
		for len(left) > 0 {
			d.at, left = left[0], left[1:]
			d.at.subs.deliver(ev, d.at.hits, d.at.looks > freeLooks)
			d.at.rest()
		}
	})
	clear(d.touched)
	d.touched = d.touched[:0]
}

// contained does work for one session after the other. A fault ends the session in hand, and work runs again for the others. A fault while
// no session is in hand ends the process.
func (d *dispatcher) contained(work func()) {
	for !d.faults.Do("a client", work) {
		if d.at == nil {
			panic("relay: a fault in the dispatcher that is no client's")
		}
		d.at.rest()
		d.at.end(brokenInside)
		for _, sub := range d.at.subs.list() {
			d.remove(sub)
		}
		d.at = nil
	}
	d.at = nil
}

// rest clears the session's hits. Only the dispatcher calls it.
func (s *session) rest() {
	clear(s.hits)
	s.hits = s.hits[:0]
}

// match gathers the sessions that an event concerns or may concern in touched, and their subscriptions in hits. It leaves a session with very
// many filters to itself.
func (d *dispatcher) match(seq store.Seq, x *subject) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.candidates(x, func(s *session, e *entry) {
		if s.lookedFor != seq {
			s.lookedFor, s.looks = seq, 0
		}
		if s.looks++; s.looks > freeLooks {
			if s.looks == freeLooks+1 && len(s.hits) == 0 {
				d.touched = append(d.touched, s)
			}
			return
		}
		f := e.filter
		d.at = s
		found := f.sub.hit != seq && f.near(x)
		maybe := found && f.steps(x) > stepsBeside
		found = found && (maybe || f.meets(x))
		d.at = nil
		if !found {
			return
		}
		f.sub.hit = seq
		if len(s.hits) == 0 {
			d.touched = append(d.touched, s)
		}
		s.hits = append(s.hits, hit{f.sub, maybe})
		d.heavy = d.heavy || maybe
	})
}
