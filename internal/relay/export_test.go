package relay

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
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
func (r *Relay) FilterBytes() int64 { return r.filterBytes.left.Load() }

// SetFilterBytes sets it.
func (r *Relay) SetFilterBytes(n int64) { r.filterBytes.left.Store(n) }

// Indexed is how many places the live index has.
func (r *Relay) Indexed() int {
	r.dispatcher.mu.Lock()
	defer r.dispatcher.mu.Unlock()
	return (&Matcher{d: r.dispatcher}).Size()
}

// RecordsLeft is what is left for reconciliations.
func (r *Relay) RecordsLeft() int {
	r.reconciles.mu.Lock()
	defer r.reconciles.mu.Unlock()
	return r.reconciles.left
}

// ClientAddr is the address that a request is taken to come from.
func (r *Relay) ClientAddr(req *http.Request) netip.Addr { return r.clientAddr(req) }

// Visitors is the table of rates.
type Visitors = visitors

// NewVisitors makes one.
func NewVisitors(r Rates, now func() time.Time, proxied bool) *Visitors {
	return newVisitors(Limits{Rates: r}.withDefaults().Rates, now, proxied)
}

// Arrive counts a connection from addr.
func (v *visitors) Arrive(addr string) (*visitor, error) { return v.arrive(netip.MustParseAddr(addr)) }

// Depart ends one.
func (v *visitors) Depart(one *visitor) { v.depart(one) }

// MayPublish counts an event.
func (v *visitors) MayPublish(one *visitor) bool { return v.mayPublish(one) }

// Len is how many addresses are told apart.
func (v *visitors) Len() int { return len(v.byAddr) }

// MaxVisitors bounds it.
const MaxVisitors = maxVisitors

// HoldDispatcher keeps the dispatcher from matching anything until release. Time stands still meanwhile.
func (r *Relay) HoldDispatcher() (release func()) {
	r.dispatcher.mu.Lock()
	return r.dispatcher.mu.Unlock
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
func (r *Relay) HoldCounters() (release func()) {
	for range cap(r.counting) {
		r.counting <- struct{}{}
	}
	return func() {
		for range cap(r.counting) {
			<-r.counting
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

// AddrBehind is ClientAddr of a relay that trusts these proxies.
func AddrBehind(proxies []netip.Prefix, req *http.Request) netip.Addr {
	return (&Relay{proxies: proxies}).clientAddr(req)
}

// Cork is the connection under a client's WebSocket.
type Cork = cork

// NewCork makes one.
func NewCork(conn net.Conn) *Cork {
	return &cork{Conn: conn, spare: &sync.Pool{New: func() any { return new([]byte) }}}
}

// Text adds a text message to what waits.
func (c *cork) Text(p []byte) error { return c.text(p) }

// Release sends what waits.
func (c *cork) Release() error { return c.release() }

// HeldBytes is what waits to be sent together.
const HeldBytes = heldBytes
