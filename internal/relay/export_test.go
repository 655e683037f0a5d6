package relay

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"graspd/internal/nostr"
	"graspd/internal/store"
)

// Matcher is the dispatcher's index with subscriptions that tests name by number.
type Matcher struct {
	d    *dispatcher
	subs map[int]*subscription
	seq  store.Seq
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
	m.d.match(m.seq, newSubject(e))
	told := map[int]int{}
	for n, sub := range m.subs {
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
	return len(x.ids) + len(x.tags) + len(x.authors) + len(x.kinds) + len(x.rest.entries)
}

// SetMaxLag bounds how far behind the feed a session may be.
func (r *Relay) SetMaxLag(n store.Seq) { r.maxLag = n }

// FilterBytes is what is left for filters.
func (r *Relay) FilterBytes() int { return r.left(filterPool) }

func (r *Relay) left(kind int) int {
	r.visitors.mu.Lock()
	defer r.visitors.mu.Unlock()
	return r.visitors.pools[kind].total - r.visitors.pools[kind].used
}

// LeaveFilterBytes takes all but n of it, until restore.
func (r *Relay) LeaveFilterBytes(n int) (restore func()) { return r.leaveOf(filterPool, n) }

func (r *Relay) leaveOf(kind, n int) (restore func()) {
	all, _ := r.visitors.grant(nil, kind, r.left(kind)-n, nil)
	return func() { r.visitors.giveBack(all) }
}

// MessageBytes is what messages that are being read take.
func (r *Relay) MessageBytes() int { return allMessageBytes - r.left(messagePool) }

// LeaveMessageBytes takes all but n of what is left for them, until restore.
func (r *Relay) LeaveMessageBytes(n int) (restore func()) { return r.leaveOf(messagePool, n) }

// LeaveRecords takes all but n of what is left for reconciliations, until restore.
func (r *Relay) LeaveRecords(n int) (restore func()) { return r.leaveOf(recordPool, n) }

// HoldTurn takes the turn of an address until release.
func (r *Relay) HoldTurn(addr string) (release func()) {
	r.visitors.mu.Lock()
	one := r.visitors.find(parseAddr(addr))
	r.visitors.mu.Unlock()
	one.turn <- struct{}{}
	return func() { <-one.turn }
}

// Indexed is how many places the live index has.
func (r *Relay) Indexed() int {
	r.dispatcher.mu.Lock()
	defer r.dispatcher.mu.Unlock()
	return (&Matcher{d: r.dispatcher}).Size()
}

// ReserveStep is how many records are reserved at a time while a set is read.
const ReserveStep = reserveStep

// RecordsLeft is what is left for reconciliations.
func (r *Relay) RecordsLeft() int { return r.left(recordPool) }

// ClientAddr is the address that a request is taken to come from.
func (r *Relay) ClientAddr(req *http.Request) netip.Addr { return r.clientAddr(req) }

// Visitors is the table of rates.
type Visitors = visitors

// NewVisitors makes one.
func NewVisitors(r Rates, now func() time.Time, proxied bool) *Visitors {
	return newVisitors(Limits{Rates: r}.withDefaults(), now, proxied)
}

// Arrive counts a connection from addr.
func (v *visitors) Arrive(addr string) (*visitor, error) { return v.arrive(netip.MustParseAddr(addr)) }

// Depart ends one.
func (v *visitors) Depart(one *visitor) { v.depart(one) }

// Grant gives a part of the pool of filters to an address; revoked says when it is taken back.
func (v *visitors) Grant(one *visitor, n int, revoked func()) (back func(), ok bool) {
	g, why := v.grant(one, filterPool, n, nil)
	if why != granted {
		return nil, false
	}
	back = func() { v.giveBack(g) }
	v.settle(g, n, func() { back(); revoked() })
	return back, true
}

// SettleLate gives a part of the pool of filters to an address, and settles it when it was given back.
func (v *visitors) SettleLate(one *visitor, n int) {
	g, _ := v.grant(one, filterPool, n, nil)
	v.giveBack(g)
	v.settle(g, n, func() {})
}

// MayPublish counts an event.
func (v *visitors) MayPublish(one *visitor) bool { return v.mayPublish(one) }

// Connect counts a connection of any kind.
func (v *visitors) Connect(addr string) bool {
	_, ok := v.connect(netip.MustParseAddr(addr))
	return ok
}

// Find gives an address.
func (v *visitors) Find(addr string) *visitor { return v.find(netip.MustParseAddr(addr)) }

// FilterTotal and FilterUsed are the size of the pool of filters, and what is taken of it.
func (v *visitors) FilterTotal() int { return v.pools[filterPool].total }
func (v *visitors) FilterUsed() int  { return v.pools[filterPool].used }

// Networks is how many networks of IPv6 are told apart.
func (v *visitors) Networks() int { return len(v.networks) }

// Len is how many addresses are told apart.
func (v *visitors) Len() int { return len(v.byAddr) }

// MaxVisitors bounds it.
const MaxVisitors = maxVisitors

// Dispatch runs the dispatcher alone until ctx ends, for a relay whose Run has not begun.
func (r *Relay) Dispatch(ctx context.Context) error { return r.dispatcher.run(ctx) }

// Behind is how many entries of the feed the only session lags behind the newest that concerns it.
func (r *Relay) Behind() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		s.mu.Lock()
		defer s.mu.Unlock()
		return int(s.live.missed - s.live.upTo)
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
	check("buffers of frames that are sent", r.held.out.Load())
	check("counters", int64(len(r.counting)))
	check("parsers", int64(len(r.parsing)))
	check("builders of sets", int64(len(r.reconciles.building)))
	v := r.visitors
	v.mu.Lock()
	defer v.mu.Unlock()
	shares := slices.Collect(maps.Values(v.networks))
	for _, one := range append(slices.Collect(maps.Values(v.byAddr)), v.rest) {
		shares = append(shares, one.own)
		check("turns of an address", int64(len(one.turn)))
	}
	for kind, name := range []string{"connections", "filters", "records of reconciliations", "messages"} {
		check(name+" in all", int64(v.pools[kind].used))
		check("addresses that hold "+name, int64(len(v.holders[kind])))
		for _, s := range shares {
			check(name+" of an address", int64(s.held[kind].size))
			check("grants of "+name, int64(s.held[kind].grants.Len()))
		}
	}
	for _, s := range shares {
		check("connections of any kind", int64(s.raw))
		check("turns of a network", int64(len(s.turns)))
	}
	return out
}

// Ascend turns the order of the store into that of a set.
var Ascend = ascend

// Waiting is how many subscriptions wait for their stored events.
func (r *Relay) Waiting() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		s.mu.Lock()
		n += len(s.waiting)
		s.mu.Unlock()
	}
	return n
}

// NewChallenge makes the challenge of a connection.
func (r *Relay) NewChallenge() string { return r.challenge() }

// HoldCounters takes all places for COUNTs until release.
func (r *Relay) HoldCounters() (release func()) { return r.counting.holdAll() }

// HoldParsers takes all places for large messages until release.
func (r *Relay) HoldParsers() (release func()) { return r.parsing.holdAll() }

func (p places) holdAll() (release func()) {
	for range cap(p) {
		p <- struct{}{}
	}
	return func() {
		for range cap(p) {
			p.leave()
		}
	}
}

// Turns is how many addresses have a client whose turn it is.
func (r *Relay) Turns() (n int) {
	r.visitors.mu.Lock()
	defer r.visitors.mu.Unlock()
	for _, one := range r.visitors.byAddr {
		n += len(one.turn)
	}
	return n
}

// NetworkTurns is how many clients of networks have their turn.
func (r *Relay) NetworkTurns() (n int) {
	r.visitors.mu.Lock()
	defer r.visitors.mu.Unlock()
	for _, network := range r.visitors.networks {
		n += len(network.turns)
	}
	return n
}

// AddrBehind is ClientAddr of a relay that trusts these proxies.
func AddrBehind(proxies []netip.Prefix, req *http.Request) netip.Addr {
	return (&Relay{proxies: proxies}).clientAddr(req)
}

// Cork is the connection under a client's WebSocket.
type Cork = cork

// NewCork makes one.
func NewCork(conn net.Conn) *Cork {
	return &cork{Conn: conn, spare: newRecycled(0)}
}

// Text adds a text message to what waits.
func (c *cork) Text(p []byte) error { return c.text(p) }

// Release sends what waits.
func (c *cork) Release() error { return c.release() }

// HeldBytes is what waits to be sent together.
const HeldBytes = heldBytes
