// Package testkit has what tests of several packages share: a network of scripted relays that judge their client, and signed and fake-signed
// events. Only tests import it.
package testkit

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// FakeRelay is a remote relay under a test's control. It answers as its fields say. It fails the test when its client breaks the protocol: by a
// malformed frame, a reused subscription id, more subscriptions, filters or bytes than it allows, or traffic after a close. Set fields before the
// first connection; atomics are switches, which may change at any time.
type FakeRelay struct {
	URL  grasp.RelayURL
	Info *nip11.Document // nil: the relay serves none
	Habits

	// Limits that the relay tells its clients; more fails the test. 0 is any.
	MaxSubs    int // subscriptions per connection
	MaxFilters int // filters per REQ
	MaxMessage int // bytes

	CloseOver int // bytes of a message for which the relay closes the connection with 1009, and tells nobody so before; 0 is any

	RefuseDial atomic.Bool
	Silent     atomic.Bool // the relay accepts and reads, but never answers
	NoEOSE     atomic.Bool
	Status     atomic.Int32 // HTTP status that refuses the upgrade
	Temper     atomic.Pointer[Temper]
	// Refuse may refuse a REQ: it returns the frame to send instead of an answer; "" does not refuse.
	Refuse func(sub string, filters []nostr.Filter) string
	// Tap sees every frame that the relay reads or sends, with the number of the connection; up says that the client sent the frame.
	Tap func(conn int, up bool, frame []byte)

	t      testing.TB
	delay  Delay
	seed   uint64
	mu     sync.Mutex // guards the fields below
	events []*nostr.Event
	conns  []*fakeConn
	dials  int
	from   map[string]int // dials by client
	lossy  bool
	sent   int
	moved  map[nostr.ID]int // how often each was sent, without what live filters with a limit of 1 bring
	reqs   []string         // every client frame in order
	auths  []nostr.PubKey
}

// Add stores events and shows them to live subscriptions.
func (f *FakeRelay) Add(events ...*nostr.Event) {
	for _, e := range events {
		f.mu.Lock()
		kept := f.keep(e)
		conns := slices.Clone(f.conns)
		f.mu.Unlock()
		if !kept || f.withheld(e.ID) {
			continue
		}
		for _, c := range conns {
			c.broadcast(e)
		}
	}
}

// Store adds events without showing them to live subscriptions.
func (f *FakeRelay) Store(events ...*nostr.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.keep(e)
	}
}

// Delete removes an event.
func (f *FakeRelay) Delete(id nostr.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = slices.DeleteFunc(f.events, func(e *nostr.Event) bool { return e.ID == id })
}

// Drop cuts all connections.
func (f *FakeRelay) Drop() {
	for _, c := range f.connected() {
		c.end(errDropped)
	}
}

var errDropped = errors.New("dropped by the relay")

// Send sends a frame on all connections, whether anybody asked for it or not.
func (f *FakeRelay) Send(frame []byte) {
	for _, c := range f.connected() {
		c.send(frame)
	}
}

// Stall stops, or starts again, reading from the connections that are open.
func (f *FakeRelay) Stall(on bool) {
	for _, c := range f.connected() {
		c.toRelay.stall(on)
	}
}

func (f *FakeRelay) connected() []*fakeConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.conns)
}

// lose notes that the relay has kept something from a client.
func (f *FakeRelay) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lossy = true
}

// Lossy reports whether the relay has kept something from a client without a word.
func (f *FakeRelay) Lossy() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.lossy }

// Dials returns how often the relay was dialed.
func (f *FakeRelay) Dials() int { f.mu.Lock(); defer f.mu.Unlock(); return f.dials }

// Sent returns how many events were sent, repeats included.
func (f *FakeRelay) Sent() int { f.mu.Lock(); defer f.mu.Unlock(); return f.sent }

// Deliveries returns how often each event was sent. It does not count the newest event that a live filter with a limit of 1 brings, for relays
// that take no limit of 0: nobody wants that event.
func (f *FakeRelay) Deliveries() map[nostr.ID]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.moved)
}

// Frames returns every frame that clients sent, in order.
func (f *FakeRelay) Frames() []string { f.mu.Lock(); defer f.mu.Unlock(); return slices.Clone(f.reqs) }

// Open returns how many subscriptions are open over all connections.
func (f *FakeRelay) Open() int {
	n := 0
	for _, c := range f.connected() {
		c.mu.Lock()
		n += len(c.subs)
		c.mu.Unlock()
	}
	return n
}

// admit refuses a dial or makes the connection.
func (f *FakeRelay) admit(from string) (*Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	f.from[from]++
	t, name := f.temper(), fmt.Sprintf("%s>%s %d", from, f.URL, f.from[from])
	rng := random(f.seed, name)
	switch status := f.Status.Load(); {
	case f.RefuseDial.Load(), hits(rng, t.RefuseDial):
		return nil, errors.New("connection refused")
	case status != 0:
		return nil, HTTPError(status)
	case hits(rng, t.Busy):
		return nil, HTTPError(429)
	}
	c := f.newConn(name, rng)
	f.conns = append(f.conns, c)
	go c.serve()
	return &Conn{c}, nil
}

func (f *FakeRelay) temper() Temper {
	if t := f.Temper.Load(); t != nil {
		return *t
	}
	return Temper{}
}

func hits(r *rand.Rand, of100 int) bool { return of100 > 0 && r.IntN(100) < of100 }

// HTTPError is the error of a dial that was refused with an HTTP status.
type HTTPError int

func (e HTTPError) Error() string { return fmt.Sprintf("HTTP status %d", int(e)) }

// HTTPStatus returns the status.
func (e HTTPError) HTTPStatus() int { return int(e) }
