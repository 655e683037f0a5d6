package relay

import (
	"context"
	"fmt"
	"net"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Matcher is the dispatcher's index with subscriptions that tests name by number.
type Matcher struct {
	d    *dispatcher
	subs map[int]*subscription
	seq  store.Seq

	Undecided int   // of the subscriptions told of the last event
	Paying    []int // as they look at the last event themselves
}

func NewMatcher() *Matcher {
	return &Matcher{d: &dispatcher{index: newIndex()}, subs: map[int]*subscription{}}
}

func (m *Matcher) Add(n int, filters []nostr.Filter) {
	s := &session{relay: &Relay{limits: Limits{}.withDefaults()}}
	m.subs[n] = s.newSubscription(nostr.Req{Filters: filters}, 0)
	m.d.add(m.subs[n])
}

func (m *Matcher) Remove(n int) {
	m.d.remove(m.subs[n])
	m.d.remove(m.subs[n])
	delete(m.subs, n)
}

// Match returns how often each subscription is told of the event.
func (m *Matcher) Match(e *nostr.Event) map[int]int {
	m.seq++
	if m.d.listens() {
		m.d.match(m.seq, newSubject(e))
	}
	told := map[int]int{}
	m.Undecided, m.Paying = 0, nil
	for n, sub := range m.subs {
		if s := sub.session; s.lookedFor == m.seq && s.looks > freeLooks {
			m.Paying = append(m.Paying, n)
		}
		for _, h := range sub.session.hits {
			if h.maybe {
				m.Undecided++
			}
		}
		if k := len(sub.session.hits); k > 0 {
			told[n] = k
		}
		sub.session.hits = nil
	}
	m.d.touched = nil
	return told
}

// Size is how many places the index has.
func (m *Matcher) Size() int {
	x := m.d.index
	return len(x.ids) + len(x.tags) + len(x.authors) + len(x.kinds) + len(x.rest.places)
}

// SetMaxLag bounds how far behind the feed a session may be.
func (r *Relay) SetMaxLag(n store.Seq) { r.maxLag = n }

// FilterBytes is what is left for filters.
func (r *Relay) FilterBytes() int { return int(r.pools.filters.Left()) }

// LeaveFilterBytes takes all but n of it, until restore.
func (r *Relay) LeaveFilterBytes(n int) (restore func()) { return leaveOf(r.pools.filters, n) }

func leaveOf(p *fair.Account, n int) (restore func()) {
	all, _ := p.Take(fair.Party{}, p.Left()-int64(n))
	return all.GiveBack
}

// MessageBytes is what messages that are being read take.
func (r *Relay) MessageBytes() int { return allMessageBytes - int(r.pools.messages.Left()) }

// LeaveMessageBytes takes all but n of what is left for them, until restore.
func (r *Relay) LeaveMessageBytes(n int) (restore func()) { return leaveOf(r.pools.messages, n) }

// LeaveRecords takes all but n of what is left for reconciliations, until restore.
func (r *Relay) LeaveRecords(n int) (restore func()) { return leaveOf(r.pools.records, n) }

// Indexed is how many places the live index has.
func (r *Relay) Indexed() int {
	r.dispatcher.mu.Lock()
	defer r.dispatcher.mu.Unlock()
	return (&Matcher{d: r.dispatcher}).Size()
}

// ReserveStep is how many records are reserved at a time while a set is read.
const ReserveStep = reserveStep

// RecordsLeft is what is left for reconciliations.
func (r *Relay) RecordsLeft() int { return int(r.pools.records.Left()) }

// Dispatch runs the dispatcher alone until ctx ends, for a relay whose Run has not begun.
func (r *Relay) Dispatch(ctx context.Context) error { return r.dispatcher.run(ctx) }

// Behind is how many entries of the feed the only session lags behind the newest that concerns it.
func (r *Relay) Behind() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		s.subs.mu.Lock()
		defer s.subs.mu.Unlock()
		return int(s.subs.live.missed - s.subs.live.upTo)
	}
	return 0
}

// LiveTurn is how many entries a lagging session reads at once.
const LiveTurn = liveTurn

// Unreturned names every account of strangers that is not as it was before the first of them came. It is for a relay whose
// sessions have all ended.
func (r *Relay) Unreturned() (out []string) {
	check := func(what string, n int64) {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s: %d", what, n))
		}
	}
	st := r.Stats()
	check("sessions", int64(st.Sessions))
	check("subscriptions", int64(st.Subscriptions))
	check("reconciliations", int64(st.Reconciliations))
	check("live bytes", st.LiveBytes)
	check("places in the index", int64(r.Indexed()))
	check("buffers of frames that are read", r.buffers.out.Load())
	check("buffers of frames that are sent", r.corkBuffers.out.Load())
	check("counters", int64(len(r.counting)))
	check("builders of sets", int64(len(r.reconciles.building)))
	return append(out, r.front.Unreturned()...)
}

// Ascend turns the order of the store into that of a set.
var Ascend = ascend

// Waiting is how many subscriptions wait for their stored events.
func (r *Relay) Waiting() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		s.subs.mu.Lock()
		n += len(s.subs.waiting)
		s.subs.mu.Unlock()
	}
	return n
}

// NewChallenge makes the challenge of a connection.
func (r *Relay) NewChallenge() string { return r.challenge() }

// HoldCounters takes all places for COUNTs until release.
func (r *Relay) HoldCounters() (release func()) { return r.counting.holdAll() }

func (p semaphore) holdAll() (release func()) {
	for range cap(p) {
		p <- struct{}{}
	}
	return func() {
		for range cap(p) {
			p.release()
		}
	}
}

// Cork is the connection under a client's WebSocket.
type Cork = cork

// NewCork makes one.
func NewCork(conn net.Conn) *Cork {
	return &cork{Conn: conn, spare: newRecycled(0)}
}

// Text adds a text message to what waits, and sends all of it where that is much.
func (c *cork) Text(p []byte) error {
	if full, err := c.hold(p); err != nil || !full {
		return err
	}
	return c.drain()
}

// Release sends what waits.
func (c *cork) Release() error { return c.release() }

// HeldBytes is what waits to be sent together.
const HeldBytes = corkBytes

// LeaveTurns leaves so many turns for work that takes long.
func (r *Relay) LeaveTurns(n int) (restore func()) { return leaveOf(r.pools.turns, n) }

// LargeBytes is what large events that are being sent take.
func (r *Relay) LargeBytes() int { return allLargeBytes - int(r.pools.large.Left()) }

// LeaveLargeBytes takes all but n of what is left for them, until restore.
func (r *Relay) LeaveLargeBytes(n int) (restore func()) { return leaveOf(r.pools.large, n) }

// TurnTime is how long one has a turn while others may wait.
const TurnTime = turnTime

// Turns returns how many turns nobody has, and how many wait for one.
func (r *Relay) Turns() (left int64, waiting int) {
	return r.pools.turns.Left(), r.pools.turns.Waiting()
}

// MostTurnsOf is how many of one party wait in line.
const MostTurnsOf = mostTurnsOf

// Turn is a client's turn among all work that takes long.
type Turn struct{ t *turn }

// NewTurn makes one of a connected client of an address.
func (r *Relay) NewTurn(addr string) Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		if host, _, _ := net.SplitHostPort(addr); s.visitor.Party().Address == host {
			return Turn{newTurn(r.pools.turns, s.pay)}
		}
	}
	panic("nobody is connected from " + addr)
}

// Work waits until the client may do something that takes long.
func (t Turn) Work(ctx context.Context) error { return t.t.need(ctx, 10*stepsFree) }

// GiveBack ends the turn.
func (t Turn) GiveBack() { t.t.giveBack() }
