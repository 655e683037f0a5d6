package relaysync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// stopsSoon stops the world and fails the test if that takes long. What it waits for in vain shows as a deadlock.
func (w *world) stopsSoon(when string) {
	w.t.Helper()
	begun := time.Now()
	w.stop()
	if d := time.Since(begun); d > 5*time.Second {
		w.t.Errorf("%s: took %v to stop", when, d)
	}
}

// slowDialer answers when its caller has gone: a dial, or a request for the information document.
type slowDialer struct {
	dialer
	info bool
}

func (d slowDialer) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	if !d.info {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.dialer.Dial(ctx, u)
}

func (d slowDialer) Info(ctx context.Context, _ grasp.RelayURL) (nip11.Document, error) {
	<-ctx.Done()
	return nip11.Document{}, ctx.Err()
}

func TestStopsWhileDialing(t *testing.T) {
	for _, info := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var boot []grasp.RelayURL
			for i := range 100 { // more than are dialed at once
				boot = append(boot, grasp.RelayURL(fmt.Sprintf("wss://b%d.example.net", i)))
			}
			w := newWorld(t, boot...)
			var relays []*testkit.FakeRelay
			for _, u := range boot {
				relays = append(relays, w.net.Relay(u))
			}
			w.adjust = func(c *relaysync.Config) { c.Dialer = slowDialer{dialer{w.net}, info} }
			w.start()
			wait(time.Second)
			if s, _ := w.status(boot[0]); s.Phase != "dialing" {
				t.Fatalf("%+v", s)
			}
			w.stopsSoon("dialing")
			dials := 0
			for _, r := range relays {
				if dials += r.Dials(); len(r.Frames()) > 0 {
					t.Errorf("%s: frames %v", r.URL, r.Frames())
				}
			}
			if info != (dials >= 64) {
				t.Errorf("%d connections", dials)
			}
		})
	}
}

func TestStopsDuringTheStartupDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.adjust = func(c *relaysync.Config) { c.StartupDelay = time.Hour }
		w.start()
		wait(time.Minute)
		w.stopsSoon("startup delay")
	})
}

// TestStopsAtAnyMoment stops again and again while the first catch-up goes on over a slow network, a moment later each
// time; each start goes on, and in the end all is here.
func TestStopsAtAnyMoment(t *testing.T) {
	// Before the engine has run at all, too.
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.start()
		w.stopsSoon("at once")
	})
	for name, neg := range map[string]testkit.NegMode{"negentropy": testkit.NegWorks, "paging": testkit.NegErr} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				w.net.Delay = func(string) func() time.Duration {
					return func() time.Duration { return 20 * time.Millisecond }
				}
				boot := w.net.Relay(bootURL)
				boot.Neg, boot.PageCap = neg, 30
				p := newProject("proj", 80)
				boot.Store(p.all()...)
				asks := make(map[string]int) // what was the last frame sent at the stop
				syncing := 0
				for d := time.Millisecond; d < 9*time.Second; d = d*5/4 + 3*time.Millisecond {
					w.start()
					wait(d)
					if s, _ := w.status(bootURL); s.Phase == "syncing" && s.InFlight > 0 {
						syncing++
					}
					if f := boot.Frames(); len(f) > 0 {
						asks[strings.SplitN(f[len(f)-1], ",", 3)[0]]++
					}
					w.stopsSoon(d.String())
					wait(time.Second)
					if n := boot.Open(); n != 0 {
						t.Errorf("after %v: %d subscriptions are left", d, n)
					}
				}
				if syncing < 4 || neg == testkit.NegWorks && asks[`["NEG-OPEN"`]+asks[`["NEG-MSG"`] == 0 || neg == testkit.NegErr && asks[`["REQ"`] == 0 {
					t.Errorf("stopped in the middle %d times, after %v", syncing, asks)
				}
				w.start()
				defer w.stop()
				w.settle()
				w.wantStored(p.all()...)
			})
		})
	}
}

// TestStopsWhileTheStoreIsRead: loaders that wait for their turn do not wait for it then.
func TestStopsWhileTheStoreIsRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 50)
		boot.Store(p.all()...)
		w.start()
		release := w.engine.HoldLoads()
		wait(10 * time.Second)
		if !slices.ContainsFunc(boot.Frames(), func(f string) bool { return strings.HasPrefix(f, `["REQ"`) }) {
			t.Fatal("nothing is asked yet")
		}
		w.stopsSoon("loading")
		release()
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(p.all()...)
	})
}

// TestStopsWhileARelayDoesNotRead: what is to be sent to it is not waited for.
func TestStopsWhileARelayDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		w.settle()
		boot.Stall(true)
		for i := range 40 {
			w.publish(testkit.Announcement(testkit.Key(1), time.Now().Unix(), fmt.Sprint("more ", i), ours, bootURL))
		}
		wait(6 * time.Second)
		w.stopsSoon("stalled")
	})
}

// TestStopsInAFloodOfEvents: the readers wait for the door, which is full.
func TestStopsInAFloodOfEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Neg = testkit.NegErr
		p := newProject("proj", 400)
		boot.Store(p.all()...)
		var events []*nostr.Event
		for i := range 3000 {
			events = append(events, testkit.Mark(testkit.Someone(1), time.Now().Unix(), 1621, fmt.Sprint(i), nostr.Tag{"a", p.address}))
		}
		w.start()
		wait(6 * time.Second)
		go boot.Add(events...) // forged, as this world sees it
		w.stopsSoon("flooded")
		wait(time.Minute)
	})
}

// TestAStopIsNoFailure: a connection that ends because graspd does says nothing
// about the relay, even where its shell hears of that end first; the next start
// connects at once.
func TestAStopIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.net.Relay(bootURL)
		for i := range 20 {
			w.start()
			wait(time.Second)
			if s, ok := w.status(bootURL); !ok || s.Failures != 0 || !s.Connected {
				t.Fatalf("start %d: %+v", i+1, s)
			}
			w.engine.Occupy(t.Context(), bootURL, func() { w.cancel(); synctest.Wait() })
			w.stop()
		}
	})
}
