package testkit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// Conn is the client's end of a connection to a fake relay.
type Conn struct{ c *fakeConn }

// Read returns the next frame from the relay.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	b, ok := c.c.toClient.take(ctx, c.c.done)
	if ok && len(b) == 0 {
		c.c.end(errors.New("that was enough"))
	}
	if !ok || len(b) == 0 {
		return nil, c.c.cause(ctx)
	}
	return b, nil
}

// Write sends a frame to the relay.
func (c *Conn) Write(ctx context.Context, b []byte) error {
	if c.c.cause(ctx) != nil || !c.c.toRelay.put(ctx, c.c.done, slices.Clone(b)) {
		return c.c.cause(ctx)
	}
	return nil
}

// Ping returns at once, or waits until ctx ends while the relay is silent.
func (c *Conn) Ping(ctx context.Context) error {
	if c.c.relay.Silent.Load() {
		<-ctx.Done()
	}
	return c.c.cause(ctx)
}

// ExpectLarge does nothing, as messages have no bound here.
func (c *Conn) ExpectLarge() {}

// SetParty does nothing.
func (c *Conn) SetParty(string) {}

// Close ends the connection.
func (c *Conn) Close(reason string) error {
	c.c.end(errors.New("closed by the client: " + reason))
	return nil
}

// fakeConn is the relay's side of one connection.
type fakeConn struct {
	relay             *FakeRelay
	number            int
	toClient, toRelay *lane
	done              chan struct{}
	frames            atomic.Int64 // that were sent
	left              atomic.Bool  // it ends once the client has read what was sent

	mu     sync.Mutex // guards the fields below
	rng    *rand.Rand
	err    error
	subs   map[string][]nostr.Filter // open REQs
	late   map[string]bool           // REQs whose EOSE comes after their CLOSE
	negs   map[string]*negentropy.Set
	authed bool
	judge
}

// newConn makes a connection. What happens to it by chance depends only on rng. The caller holds f.mu.
func (f *FakeRelay) newConn(name string, rng *rand.Rand) *fakeConn {
	c := &fakeConn{
		relay: f, number: f.dials, toClient: newLane(nil), toRelay: newLane(nil), done: make(chan struct{}),
		rng: rng, subs: make(map[string][]nostr.Filter), late: make(map[string]bool),
		negs: make(map[string]*negentropy.Set), judge: judge{relay: f, used: make(map[string]use)},
	}
	if f.delay != nil {
		c.toRelay.delay, c.toClient.delay = f.delay(name+" up"), f.delay(name+" down")
	}
	return c
}

func (c *fakeConn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	f := c.relay
	go func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.conns = slices.DeleteFunc(f.conns, func(x *fakeConn) bool { return x == c })
	}()
}

// cause returns why the connection, or else ctx, has ended; nil when neither has.
func (c *fakeConn) cause(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return ctx.Err()
}

func (c *fakeConn) send(b []byte) {
	if c.relay.Silent.Load() {
		c.relay.lose()
		return
	}
	switch n, most := c.frames.Add(1), int64(c.relay.temper().Messages); {
	case most == 0 || n <= most:
	case n == most+1:
		c.goodbye()
		return
	default:
		return
	}
	if c.left.Load() {
		return
	}
	if c.relay.Tap != nil {
		c.relay.Tap(c.number, false, b)
	}
	if strings.HasPrefix(string(b), `["NOTICE"`) {
		c.noted.Store(true)
	}
	c.toClient.put(context.Background(), c.done, b)
}

// chance draws whether something happens that happens so many times of 100.
func (c *fakeConn) chance(of100 int) bool {
	if of100 == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return hits(c.rng, of100)
}

func (c *fakeConn) pick(texts []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return texts[c.rng.IntN(len(texts))]
}

// goodbye ends the connection when the client has read what was sent before.
func (c *fakeConn) goodbye() {
	if !c.left.Swap(true) {
		c.toClient.put(context.Background(), c.done, []byte{})
	}
}

// gone reports whether nothing that is sent reaches the client any more.
func (c *fakeConn) gone() bool {
	most := int64(c.relay.temper().Messages)
	return c.left.Load() || most > 0 && c.frames.Load() >= most
}

func (c *fakeConn) serve() {
	c.greet()
	for {
		b, ok := c.toRelay.take(context.Background(), c.done)
		if !ok {
			return
		}
		c.handle(b)
	}
}

func (c *fakeConn) handle(b []byte) {
	f := c.relay
	f.mu.Lock()
	f.reqs = append(f.reqs, string(b))
	f.mu.Unlock()
	if f.Tap != nil {
		f.Tap(c.number, true, b)
	}
	if f.CloseOver > 0 && len(b) > f.CloseOver {
		c.end(&relayconn.ClosedError{Code: 1009, Reason: "message too big"})
		return
	}
	m := c.read(b)
	if m == nil {
		return
	}
	if f.Neg == NegUnknown {
		switch m.(type) {
		case nostr.NegOpen, nostr.NegMsg, nostr.NegClose:
			c.send(nostr.AppendNotice(nil, "failed to parse envelope: unknown envelope label"))
			return
		}
	}
	switch m := m.(type) {
	case nostr.Req:
		c.req(m)
	case nostr.Auth:
		c.authenticate(m.Event)
	case nostr.Close:
		c.close(m.Sub)
	case nostr.NegOpen:
		c.negOpen(m)
	case nostr.NegMsg:
		c.negMsg(m)
	case nostr.NegClose:
		c.mu.Lock()
		delete(c.negs, m.Sub)
		c.mu.Unlock()
	}
}

func (c *fakeConn) close(sub string) {
	c.mu.Lock()
	late := c.late[sub]
	delete(c.late, sub)
	delete(c.subs, sub)
	c.mu.Unlock()
	if late {
		c.send(nostr.AppendEOSE(nil, sub))
	}
}

func (c *fakeConn) event(sub string, e *nostr.Event) {
	c.relay.mu.Lock()
	c.relay.moved[e.ID]++
	c.relay.mu.Unlock()
	c.show(sub, e)
}

// show sends an event without counting it among the Deliveries.
func (c *fakeConn) show(sub string, e *nostr.Event) {
	if c.relay.tooLarge(e.ID) {
		c.goodbye()
	}
	if c.gone() {
		return
	}
	c.relay.mu.Lock()
	c.relay.sent++
	c.relay.mu.Unlock()
	c.send(nostr.AppendRelayEvent(nil, sub, e.AppendJSON(nil)))
}

// broadcast sends an event to the live subscriptions that it matches.
func (c *fakeConn) broadcast(e *nostr.Event) {
	t := c.relay.temper()
	var subs []string
	c.mu.Lock()
	for sub, fs := range c.subs {
		if slices.ContainsFunc(fs, func(f nostr.Filter) bool { return f.Matches(e) }) {
			subs = append(subs, sub)
		}
	}
	slices.Sort(subs)
	lost := 0
	for i, sub := range subs {
		switch {
		case hits(c.rng, t.ForgetLive):
			delete(c.subs, sub)
			fallthrough
		case hits(c.rng, t.LoseLive):
			subs[i] = ""
			lost++
		}
	}
	c.mu.Unlock()
	if lost > 0 {
		c.relay.lose()
	}
	for _, sub := range subs {
		if sub != "" {
			c.event(sub, e)
		}
	}
}
