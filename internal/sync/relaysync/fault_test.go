package relaysync_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// faulty is a dialer that panics once, over one relay, at one place.
type faulty struct {
	dialer
	of    grasp.RelayURL
	place string
	left  *atomic.Int64 // how often the place is passed before it panics
}

func (d faulty) pass(u grasp.RelayURL, place string) {
	if u == d.of && place == d.place && d.left.Add(-1) == 0 {
		panic("planted")
	}
}

func (d faulty) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	d.pass(u, "dial")
	c, err := d.dialer.Dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return faultyConn{c, d, u}, nil
}

func (d faulty) Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error) {
	d.pass(u, "info")
	return d.dialer.Info(ctx, u)
}

type faultyConn struct {
	relaysync.Conn
	d faulty
	u grasp.RelayURL
}

func (c faultyConn) Read(ctx context.Context) ([]byte, error) {
	c.d.pass(c.u, "read")
	return c.Conn.Read(ctx)
}

func (c faultyConn) Write(ctx context.Context, b []byte) error {
	c.d.pass(c.u, "write")
	return c.Conn.Write(ctx, b)
}

func (c faultyConn) Ping(ctx context.Context) error {
	c.d.pass(c.u, "ping")
	return c.Conn.Ping(ctx)
}

// TestAFaultEndsOneConnection: whatever in this program fails over one relay ends the connection to that one, which is tried again
// as after any failure, and is complete then. What others bring does not wait for it.
func TestAFaultEndsOneConnection(t *testing.T) {
	for _, c := range []struct {
		place string
		left  int64
	}{{"dial", 1}, {"info", 1}, {"read", 1}, {"read", 5}, {"write", 1}, {"write", 4}, {"ping", 1}, {"sign", 0}, {"shell", 0}, {"loader", 0}} {
		t.Run(c.place, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL, otherURL)
				boot, second := w.net.Relay(bootURL), w.net.Relay(otherURL)
				if c.place == "sign" {
					boot.Auth = testkit.AuthFirst
				}
				p, q := newProject("proj", 30), newProject("others", 30, otherURL)
				boot.Store(p.all()...)
				second.Store(q.all()...)
				faults := contain.New(nil, nil)
				left := &atomic.Int64{}
				left.Store(c.left)
				w.adjust = func(cfg *relaysync.Config) {
					cfg.Faults, cfg.Dialer = faults, faulty{dialer{w.net}, bootURL, c.place, left}
					sign, signed := cfg.Sign, false
					cfg.Sign = func(e *nostr.Event) error {
						if c.place == "sign" && !signed {
							signed = true
							panic("planted")
						}
						return sign(e)
					}
				}
				w.start()
				defer w.stop()
				wait(time.Second)
				switch c.place {
				case "shell":
					w.engine.Occupy(t.Context(), bootURL, func() { panic("planted") })
				case "loader":
					w.engine.Load(t.Context(), bootURL, func() { panic("planted") })
				}
				for range 40 { // the first ping comes after 30 s
					if n, _ := faults.Seen(); n == 1 {
						break
					}
					wait(time.Second)
				}
				n, last := faults.Seen()
				if n != 1 || last.In != bootURL {
					t.Fatalf("%d faults, %+v", n, last)
				}
				wait(time.Millisecond)
				if s, ok := w.status(bootURL); !ok || s.Failures != 1 || !strings.Contains(string(s.Cause), "internal error") {
					t.Errorf("after the fault: %v, %+v", ok, s)
				}
				if boot.Open() != 0 {
					t.Errorf("%d subscriptions are open after the fault", boot.Open())
				}
				now := q.later("while it waits")
				second.Add(now)
				wait(100 * time.Millisecond)
				w.wantStored(now)
				w.settle()
				w.wantStored(append(p.all(), q.all()...)...)
				live := p.later("live again")
				boot.Add(live)
				wait(time.Second)
				w.wantStored(live)
				if n, _ := faults.Seen(); n != 1 {
					t.Errorf("%d faults", n)
				}
				if s, _ := w.status(otherURL); s.Failures != 0 || s.Counters.Attempts != 1 {
					t.Errorf("the other relay: %+v", s)
				}
			})
		})
	}
}

// TestAFaultAgainAndAgain: a relay over which this program fails each time is backed off from.
func TestAFaultAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Auth = testkit.AuthFirst
		faults := contain.New(nil, nil)
		w.adjust = func(cfg *relaysync.Config) {
			cfg.Faults, cfg.Sign = faults, func(*nostr.Event) error { panic("planted") }
		}
		w.start()
		defer w.stop()
		wait(time.Hour)
		s, ok := w.status(bootURL)
		if n, _ := faults.Seen(); n < 5 || n > 12 || !ok || s.Failures != int(n) {
			t.Errorf("%d faults in an hour, %v, %+v", n, ok, s)
		}
	})
}
