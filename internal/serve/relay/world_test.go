package relay_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

const (
	domain    = "relay.example.org"
	challenge = "prove it" // of every connection, unless a test has others
)

// world is a relay with everything under it, served over a network in memory. It lives in a synctest bubble, but where it is assembled
// on other ground.
type world struct {
	store  *store.Store
	door   *ingest.Door
	relay  *relay.Relay
	front  *front.Front
	net    *network
	server *http.Server
	source *ingest.Source
	gate   *gate

	listener   net.Listener // net, but on other ground
	settle     func()       // waits until nothing goes on; synctest.Wait
	startRelay func()       // only for a world that was assembled
	endRelay   func()       // ends the relay alone, and waits for it
	stop       func()       // ends everything, waits for it, and sees that everything was given back
}

// gate accepts every signature (the door's own tests are about real ones), but on other ground, and can be made to wait.
type gate struct {
	open   atomic.Pointer[chan struct{}]
	verify nostr.Verifier // nil accepts all
}

func (g *gate) Verify(pk nostr.PubKey, id nostr.ID, sig nostr.Sig) bool {
	if c := g.open.Load(); c != nil {
		<-*c
	}
	return g.verify == nil || g.verify.Verify(pk, id, sig)
}

// blockDoor keeps the door from deciding anything until release.
func (w *world) blockDoor(t *testing.T) (release func()) {
	t.Helper()
	c := make(chan struct{})
	w.gate.open.Store(&c)
	return func() { close(c) }
}

// inWorld runs a test in a bubble with a relay of these limits, and sees that nothing of it is left.
func inWorld(t *testing.T, limits relay.Limits, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorldOf(t, relay.Config{Limits: limits}, test)
}

// inWorldAt is inWorld where each address has these rates.
func inWorldAt(t *testing.T, rates front.Rates, limits relay.Limits, test func(t *testing.T, w *world)) {
	t.Helper()
	inBubble(t, settings{Config: relay.Config{Limits: limits}, rates: rates}, test)
}

func inWorldOf(t *testing.T, c relay.Config, test func(t *testing.T, w *world)) {
	t.Helper()
	inBubble(t, settings{Config: c}, test)
}

// settings are those of a relay and of its front.
type settings struct {
	relay.Config
	rates   front.Rates
	proxies []netip.Prefix
	routes  []front.Route // beside the relay's
	follows bool          // the relay takes no events, as another node writes
}

func inBubble(t *testing.T, c settings, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := assemble(t, c)
		w.startRelay()
		defer w.stop()
		test(t, w)
	})
}

func build(t *testing.T, c relay.Config) *world {
	t.Helper()
	w := assemble(t, settings{Config: c})
	w.startRelay()
	return w
}

// assemble builds a world whose relay does not follow the feed until it is started, at the latest when the world is stopped.
func assemble(t *testing.T, c settings) *world {
	t.Helper()
	return assembleOn(t, c, ground{store: store.Options{Dir: "store", FS: vfs.NewMem()}, settle: synctest.Wait, workers: 1})
}

// ground is what a world stands on.
type ground struct {
	store   store.Options
	front   net.Listener   // nil is a network in memory
	verify  nostr.Verifier // nil accepts all signatures
	workers int
	settle  func()
}

func assembleOn(t *testing.T, c settings, g ground) *world {
	t.Helper()
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(g.store)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: st, net: newNetwork(), gate: &gate{verify: g.verify}, settle: g.settle}
	if w.listener = g.front; w.listener == nil {
		w.listener = w.net
	}
	w.door = ingest.New(ingest.Config{
		Store: st, Rules: policy.Rules{Service: service, MinPoW: c.MinPoW}, Verifier: w.gate, Workers: g.workers, Logger: c.Logger, Faults: c.Faults,
	})
	w.source = w.door.Source(ingest.SourceConfig{Label: "test"})
	c.Store, c.Service = st, service
	if c.Rules = w.door; !c.follows {
		c.Door = doors{w.door}
	}
	if c.Challenge == nil {
		c.Challenge = func() string { return challenge }
	}
	w.front = front.New(front.Config{Rates: c.rates, Proxies: c.proxies, Logger: c.Logger, Faults: c.Faults})
	for _, route := range c.routes {
		w.front.Handle(route)
	}
	c.Front = w.front
	if w.relay, err = relay.New(c.Config); err != nil {
		t.Fatal(err)
	}
	w.server = w.front.Server()
	w.run(t)
	return w
}

// run starts what has to run; stop ends it in the order of the binary.
func (w *world) run(t *testing.T) {
	doorCtx, endDoor := context.WithCancel(context.Background())
	relayCtx, endRelay := context.WithCancel(context.Background())
	var server, relay, door sync.WaitGroup
	door.Go(func() {
		if err := w.door.Run(doorCtx); err != nil {
			t.Errorf("door: %v", err)
		}
	})
	w.startRelay = sync.OnceFunc(func() {
		relay.Go(func() {
			if err := w.relay.Run(relayCtx); err != nil {
				t.Errorf("relay: %v", err)
			}
		})
	})
	server.Go(func() {
		if err := w.server.Serve(w.front.Listener(w.listener)); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("server: %v", err)
		}
	})
	w.endRelay = func() {
		w.startRelay()
		endRelay()
		relay.Wait()
	}
	w.stop = once(func() {
		w.server.Close()
		server.Wait()
		w.endRelay()
		w.source.Close()
		endDoor()
		door.Wait()
		w.settle() // for handlers to return
		w.allBack(t)
		if err := w.store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
}

// once is sync.OnceFunc whose callers wait in a way that lets the time of a bubble go on.
func once(do func()) func() {
	var first atomic.Bool
	done := make(chan struct{})
	return func() {
		if first.CompareAndSwap(false, true) {
			do()
			close(done)
		}
		<-done
	}
}

// allBack sees that every account of strangers is as before the first of them came.
func (w *world) allBack(t *testing.T) {
	t.Helper()
	for _, what := range w.relay.Unreturned() {
		t.Errorf("not given back: %s", what)
	}
	if sources, places := w.door.Occupied(); sources != 0 || places != 0 {
		t.Errorf("not given back: %d sources, %d places at the door", sources, places)
	}
}

// put stores events as the sync engine would, and returns when they are durable.
func (w *world) put(t *testing.T, events ...*nostr.Event) {
	t.Helper()
	var done sync.WaitGroup
	for _, e := range events {
		done.Add(1)
		err := w.source.Submit(context.Background(), e, store.Catchup, func(v policy.Verdict) {
			defer done.Done()
			if !v.OK() {
				t.Errorf("event of kind %d was not stored: %s", e.Kind, v.Reason)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
}

// client is the other end of one WebSocket connection. It reads one frame ahead, so that pings are answered, and swallows
// the usual challenge.
type client struct {
	conn   *websocket.Conn
	frames chan read
	done   chan struct{}
}

type read struct {
	frame string
	err   error
}

func newClient(conn *websocket.Conn) *client {
	conn.SetReadLimit(4 << 20)
	return &client{conn: conn, frames: make(chan read), done: make(chan struct{})}
}

func (c *client) pump() {
	for {
		_, b, err := c.conn.Read(context.Background())
		if string(b) == `["AUTH","`+challenge+`"]` {
			continue
		}
		select {
		case c.frames <- read{string(b), err}:
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// reason is the text of the close frame.
func reason(err error) string {
	closed, _ := errors.AsType[websocket.CloseError](err)
	return closed.Reason
}

func (w *world) dial(t *testing.T) *client {
	t.Helper()
	return w.dialFrom(t, "127.0.0.1:9999")
}

func (w *world) dialFrom(t *testing.T, addr string) *client {
	t.Helper()
	conn, _, err := w.connect(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(conn)
	go c.pump()
	return c
}

func (w *world) transport(addr string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.dial(ctx, addr) }}
}

// connect is one WebSocket handshake.
func (w *world) connect(addr string, header http.Header) (*websocket.Conn, *http.Response, error) {
	tr := w.transport(addr)
	defer tr.CloseIdleConnections()
	return websocket.Dial(context.Background(), "ws://"+domain+"/", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: tr}, HTTPHeader: header,
	})
}

func (c *client) close() {
	close(c.done)
	c.conn.CloseNow()
}

func (c *client) send(t *testing.T, frame string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		t.Fatalf("send %.100s: %v", frame, err)
	}
}

// read returns the next frame. It fails the test when none comes within a minute.
func (c *client) read(t *testing.T) string {
	t.Helper()
	frame, err := c.next(time.Minute)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return frame
}

// next returns the next frame, or why there is none.
func (c *client) next(wait time.Duration) (string, error) {
	select {
	case r := <-c.frames:
		return r.frame, r.err
	case <-time.After(wait):
		return "", context.DeadlineExceeded
	}
}

// idle lets time pass, in which no frame may come.
func (c *client) idle(t *testing.T, d time.Duration) {
	t.Helper()
	if frame, err := c.next(d); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("in %v of silence: %.300s, %v", d, frame, err)
	}
}

// expect reads one frame, which must be that.
func (c *client) expect(t *testing.T, want string) {
	t.Helper()
	if got := c.read(t); got != want {
		t.Fatalf("got  %.300s\nwant %.300s", got, want)
	}
}

// key is the public key of a person by number.
func key(n byte) nostr.PubKey {
	var pk nostr.PubKey
	pk[0], pk[31] = 1, n
	return pk
}

// event is an event with its right id and no signature.
func event(author byte, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	e.ID = e.ComputeID()
	return e
}

// announcement is a repository "d" that lists the relay; issues name it.
func announcement() *nostr.Event {
	return event(1, time.Now().Unix()-1000, nip34.KindRepository, "", nostr.Tag{"d", "d"}, nostr.Tag{"relays", "wss://" + domain})
}

func repository() string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: "d"}.String()
}

func issue(at int64, text string, tags ...nostr.Tag) *nostr.Event {
	return event(2, at, nip34.KindIssue, text, append([]nostr.Tag{{"a", repository()}}, tags...)...)
}

// turns is how many addresses have a client whose turn it is.
func (w *world) turns() int { n, _ := w.front.Turns(); return n }

// networkTurns is how many clients of networks have theirs.
func (w *world) networkTurns() int { _, n := w.front.Turns(); return n }

// doors is a door as a relay asks it.
type doors struct{ *ingest.Door }

// Source implements relay.Door.
func (d doors) Source(c ingest.SourceConfig) relay.Source { return d.Door.Source(c) }
