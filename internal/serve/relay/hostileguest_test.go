package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// proxyAddr is the proxy whose X-Forwarded-For the relay believes.
var proxyAddr = netip.AddrFrom4([4]byte{127, 255, 0, 1})

// guest is a client that does what chance says, on one connection after another.
type guest struct {
	*hostile
	r    *rand.Rand
	n    int
	raw  *net.TCPConn
	ws   *websocket.Conn
	told *heard
	subs int // ids used once
	negs map[string]*negentropy.Initiator
}

// address is where a guest connects from: many from one address, some from their own, some through the proxy.
func (g *guest) address() (from netip.Addr, forwarded string) {
	switch {
	case g.n%3 == 0:
		return netip.AddrFrom4([4]byte{127, 9, 0, 1}), ""
	case g.n%7 == 1:
		return proxyAddr, fmt.Sprintf("2001:db8:%x::%x", g.n%4, g.r.IntN(100))
	}
	return netip.AddrFrom4([4]byte{127, 9, 1, byte(g.n)}), ""
}

// dial opens one connection; raw is what it stands on.
func (h *hostile) dial(ctx context.Context, from netip.Addr, forwarded string, buffer int) (*websocket.Conn, *net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, hostilePatience)
	defer cancel()
	raws := make(chan *net.TCPConn, 1)
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		c, err := d.DialContext(ctx, network, to)
		if err != nil {
			return nil, err
		}
		raw := c.(*net.TCPConn)
		raws <- raw
		if buffer > 0 {
			err = raw.SetReadBuffer(buffer)
		}
		return c, err
	}}
	head := http.Header{}
	if forwarded != "" {
		head.Set("X-Forwarded-For", forwarded)
	}
	ws, _, err := websocket.Dial(ctx, h.url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}, HTTPHeader: head})
	if err != nil {
		return nil, nil, err
	}
	ws.SetReadLimit(4 << 20)
	return ws, <-raws, nil
}

// visit is one connection, from its beginning to its end.
func (g *guest) visit(ctx context.Context) {
	from, forwarded := g.address()
	var err error
	if g.ws, g.raw, err = g.dial(ctx, from, forwarded, []int{0, 0, 4 << 10}[g.r.IntN(3)]); err != nil {
		g.tally.add("did not get in", 1)
		sleep(ctx, 20*time.Millisecond)
		return
	}
	g.tally.add("connections", 1)
	defer g.ws.CloseNow()
	g.told, g.negs = newHeard(g.tally), map[string]*negentropy.Initiator{}
	pause := []time.Duration{0, 0, time.Millisecond, 20 * time.Millisecond, -1}[g.r.IntN(5)] // -1: nothing is ever read
	eager := &atomic.Bool{}
	var reader sync.WaitGroup
	defer reader.Wait()
	defer g.ws.CloseNow()
	if pause >= 0 {
		reader.Go(func() { g.listen(pause, eager) })
	}
	haste := []time.Duration{0, 0, time.Millisecond, 10 * time.Millisecond}[g.r.IntN(4)]
	for range 1 + g.r.IntN(150) {
		if ctx.Err() != nil {
			break
		}
		if err := g.act(); err != nil {
			g.tally.add("could not send", 1)
			return
		}
		if haste > 0 {
			sleep(ctx, time.Duration(g.r.Int64N(int64(2*haste))))
		}
	}
	g.leave(ctx, pause >= 0, eager)
}

// listen reads until the connection ends, and judges all that comes.
func (g *guest) listen(pause time.Duration, eager *atomic.Bool) {
	for {
		_, b, err := g.ws.Read(context.Background())
		if err != nil {
			if closed, ok := errors.AsType[websocket.CloseError](err); ok {
				g.tally.add(fmt.Sprintf("heard the end: %d %s", closed.Code, closed.Reason), 1)
				if closed.Code == websocket.StatusInternalError {
					g.t.Errorf("a client is told of an internal error")
				}
			}
			break
		}
		g.told.frame(b)
		if pause > 0 && !eager.Load() {
			time.Sleep(pause)
		}
	}
	if what := g.told.failed(); what != "" {
		g.t.Errorf("a client hears what %s", what)
	}
}

// leave ends the connection in one of the ways in which clients do.
func (g *guest) leave(ctx context.Context, reads bool, eager *atomic.Bool) {
	eager.Store(true)
	switch way := g.r.IntN(8); {
	case way == 0:
		g.tally.add("vanish with a reset", 1)
		_ = g.raw.SetLinger(0)
		_ = g.raw.Close()
	case way == 1:
		g.tally.add("vanish in the middle of a message", 1)
		if w, err := g.ws.Writer(context.Background(), websocket.MessageText); err == nil {
			_, _ = w.Write([]byte(`["REQ","half",{"ids":["` + strings.Repeat("a", g.r.IntN(60_000))))
		}
		_ = g.raw.Close()
	case way == 2:
		g.tally.add("send no WebSocket any more", 1)
		b := make([]byte, 1+g.r.IntN(200))
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
		_, _ = g.raw.Write(b)
		sleep(ctx, time.Duration(g.r.IntN(20))*time.Millisecond)
	case way == 3 && reads:
		g.tally.add("say goodbye", 1)
		_ = g.ws.Close(websocket.StatusNormalClosure, "")
	case reads:
		g.settled(ctx)
	}
}

// settled waits for the answers to all that was sent, for as long as the connection lasts.
func (g *guest) settled(ctx context.Context) {
	for end := time.Now().Add(hostilePatience); ctx.Err() == nil; sleep(ctx, 2*time.Millisecond) {
		waits := g.told.waits()
		if len(waits) == 0 {
			g.tally.add("have all answers", 1)
			return
		}
		if time.Now().After(end) {
			g.t.Errorf("no answer in %v: %v", hostilePatience, waits)
			return
		}
		c, cancel := context.WithTimeout(ctx, hostilePatience)
		err := g.ws.Ping(c)
		cancel()
		if err != nil {
			g.tally.add("have lost the connection before", 1)
			return
		}
	}
}

// act does one thing.
func (g *guest) act() error {
	sub := fmt.Sprint("s", g.r.IntN(5))
	switch g.r.IntN(20) {
	case 0, 1, 2, 3, 4:
		return g.req(sub, false)
	case 5:
		g.subs++
		return g.req(fmt.Sprint("once-", g.subs), true)
	case 6, 7:
		g.tally.add("sent CLOSE", 1)
		return g.send(nostr.AppendClose(nil, sub))
	case 8:
		g.tally.add("sent COUNT", 1)
		f := g.pool.filter(g.r)
		g.told.ask(sub, func(a *asked) { a.counts++ })
		return g.send(testkit.Count(sub, f))
	case 9, 10:
		return g.reconcile()
	case 11, 12, 13, 14, 15:
		e := g.pool.publication(g.r, g.n, g.r.IntN(1<<30))
		g.pool.learn(g.r, e)
		g.tally.add("sent EVENT", 1)
		g.told.publish(e.ID)
		return g.send(nostr.AppendEventMsg(nil, e))
	case 16:
		return g.authenticate()
	case 17:
		return g.babble()
	case 18:
		g.tally.add("sent in parts", 1)
		return g.parts(g.request(sub, false))
	}
	g.tally.add("sent many at once", 1)
	for range g.r.IntN(30) {
		if err := g.req(sub, false); err != nil {
			return err
		}
	}
	return nil
}

// request notes a REQ and makes it.
func (g *guest) request(sub string, once bool) []byte {
	filters := make([]nostr.Filter, 1+g.r.IntN(4))
	for i := range filters {
		filters[i] = g.pool.filter(g.r)
	}
	g.told.ask(sub, func(a *asked) {
		a.reqs++
		a.once = once
		a.filters = append(a.filters, filters...)
	})
	return nostr.AppendReq(nil, sub, filters...)
}

func (g *guest) req(sub string, once bool) error {
	g.tally.add("sent REQ", 1)
	return g.send(g.request(sub, once))
}

// reconcile opens a reconciliation, goes on with one, or ends one.
func (g *guest) reconcile() error {
	sub := fmt.Sprint("n", g.r.IntN(3))
	n := g.negs[sub]
	switch {
	case n == nil || g.r.IntN(4) == 0:
		var items []negentropy.Item
		for range g.r.IntN(500) {
			if e := g.pool.some(g.r); e.CreatedAt >= 0 {
				items = append(items, negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID})
			}
		}
		n = negentropy.NewInitiator(negentropy.NewSet(items), 0)
		g.negs[sub] = n
		first := n.Start()
		if g.r.IntN(10) == 0 {
			first[g.r.IntN(len(first))] ^= byte(1 + g.r.IntN(255))
		}
		g.told.ask(sub, func(a *asked) { a.steps++ })
		g.told.listenTo(sub)
		g.tally.add("sent NEG-OPEN", 1)
		f := g.pool.filter(g.r)
		f.Limit = nil
		return g.send(nostr.AppendNegOpen(nil, sub, f, first))
	case g.r.IntN(4) == 0:
		delete(g.negs, sub)
		g.tally.add("sent NEG-CLOSE", 1)
		return g.send(nostr.AppendNegClose(nil, sub))
	}
	msg := g.told.answered(sub)
	if msg == nil {
		if g.r.IntN(4) > 0 {
			return nil
		}
		msg = []byte{0x61, 0, 0, byte(g.r.IntN(4))}
	} else if msg, _, _, _ = n.Step(msg); len(msg) == 0 { // it is over, or the answer was to another one under this id
		delete(g.negs, sub)
		return nil
	}
	g.told.ask(sub, func(a *asked) { a.steps++ })
	g.tally.add("sent NEG-MSG", 1)
	return g.send(nostr.AppendNegMsg(nil, sub, msg))
}

func (h *heard) listenTo(sub string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.negs[sub] = make(chan []byte, 1)
}

// answered is what came last for a reconciliation, or nil.
func (h *heard) answered(sub string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case m := <-h.negs[sub]:
		return m
	default:
		return nil
	}
}

func (g *guest) authenticate() error {
	what := challenge
	if g.r.IntN(4) == 0 {
		what = "something else"
	}
	g.tally.add("sent AUTH", 1)
	e := testkit.Mark(testkit.Someone(stranger0+g.r.IntN(50)), time.Now().Unix(), nostr.KindAuth, fmt.Sprint(g.r.IntN(1<<30)), nostr.Tag{"relay", "wss://" + domain}, nostr.Tag{"challenge", what})
	g.told.publish(e.ID)
	return g.send(nostr.AppendAuth(nil, e))
}

// babble sends what is no message, or not one that is taken.
func (g *guest) babble() error {
	g.tally.add("sent nonsense", 1)
	sub := "w"
	switch g.r.IntN(7) {
	case 0:
		return g.send([]byte(`hello`))
	case 1:
		g.told.ask(sub, func(a *asked) { a.wrong++ })
		return g.send([]byte(`["REQ","w",{"ids":["zz"]}]`))
	case 2:
		g.told.ask(sub, func(a *asked) { a.wrong++ })
		return g.send([]byte(`["NEG-OPEN","w",{},"6g"]`))
	case 3:
		return g.send([]byte(`["CLOSE"` + strings.Repeat(`,[`, g.r.IntN(10_000))))
	case 4:
		g.told.ask(sub, func(a *asked) { a.reqs++ }) // with few values it is one that matches nothing
		values := strings.Repeat(`"`+strings.Repeat("v", 20)+`",`, g.r.IntN(4000))
		return g.send([]byte(`["REQ","w",{"#t":[` + values + `"v"]}]`))
	case 5:
		c, cancel := context.WithTimeout(context.Background(), hostilePatience)
		defer cancel()
		return g.ws.Write(c, websocket.MessageBinary, make([]byte, g.r.IntN(2000)))
	}
	if g.r.IntN(5) > 0 {
		return nil
	}
	g.told.ask(sub, func(a *asked) { a.wrong++ })
	return g.send([]byte(`["REQ","w",{"#t":["` + strings.Repeat("x", 300_000) + `"]}]`)) // longer than a message may be
}

// parts sends a message in fragments.
func (g *guest) parts(frame []byte) error {
	c, cancel := context.WithTimeout(context.Background(), hostilePatience)
	defer cancel()
	w, err := g.ws.Writer(c, websocket.MessageText)
	if err != nil {
		return err
	}
	for len(frame) > 0 {
		n := min(len(frame), 1+g.r.IntN(len(frame)))
		if _, err := w.Write(frame[:n]); err != nil {
			return err
		}
		frame = frame[n:]
		if g.r.IntN(3) == 0 {
			time.Sleep(time.Duration(g.r.IntN(3)) * time.Millisecond)
		}
	}
	return w.Close()
}

func (g *guest) send(frame []byte) error {
	// A guest that reads nothing is read no further at some time.
	c, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return g.ws.Write(c, websocket.MessageText, frame)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
