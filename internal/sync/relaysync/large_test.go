package relaysync_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// told notes what connections are told of the messages to come.
type told struct {
	dialer
	mu      sync.Mutex
	large   map[grasp.RelayURL]int
	parties map[grasp.RelayURL][]string
	long    atomic.Bool // everything that is read is too long
	flood   atomic.Bool // every connection ends with relayconn.ErrFlood after its first message
}

func (d *told) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	c, err := d.dialer.Dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return toldConn{c, d, u}, nil
}

type toldConn struct {
	relaysync.Conn
	d *told
	u grasp.RelayURL
}

func (c toldConn) ExpectLarge() {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.large[c.u]++
}

func (c toldConn) SetParty(party string) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.parties[c.u] = append(c.d.parties[c.u], party)
}

func (c toldConn) Read(ctx context.Context) ([]byte, error) {
	b, err := c.Conn.Read(ctx)
	if err == nil && c.d.long.Load() {
		return nil, relayconn.ErrTooLong
	}
	if err == nil && c.d.flood.Load() {
		return nil, fmt.Errorf("read: %w", relayconn.ErrFlood)
	}
	return b, err
}

// TestAFloodOfFramesIsAFailure of the relay, whatever it answered before.
func TestAFloodOfFramesIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		d := newTold(w)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.settle()
		for n := range 5 {
			d.flood.Store(true)
			boot.Send(nostr.AppendNotice(nil, "hello"))
			wait(time.Second)
			d.flood.Store(false)
			s, _ := w.status(bootURL)
			if s.Connected || s.Failures != n+1 || string(s.Cause) != "read: "+relayconn.ErrFlood.Error() {
				t.Fatalf("flood %d: %+v", n+1, s)
			}
			boot.Add(testkit.Issue(testkit.Key(5), time.Now().Unix(), p.address, "another")) // something new to bring
			wait(4 * time.Minute)
		}
	})
}

func newTold(w *world) *told {
	d := &told{dialer: dialer{w.net}, large: make(map[grasp.RelayURL]int), parties: make(map[grasp.RelayURL][]string)}
	w.adjust = func(c *relaysync.Config) { c.Dialer = d }
	return d
}

// TestLargeAnswersAreExpected of reconciliations alone, one for each message.
func TestLargeAnswersAreExpected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		d := newTold(w)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 300)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.settle()
		messages := 0
		for _, f := range boot.Frames() {
			if strings.HasPrefix(f, `["NEG-OPEN"`) || strings.HasPrefix(f, `["NEG-MSG"`) {
				messages++
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.large[bootURL] != messages || messages == 0 {
			t.Errorf("%d large messages expected, for %d of reconciliations", d.large[bootURL], messages)
		}
	})
}

// TestMessagesAreOnTheOwnersAccount where one alone names the relay, and on its own where several do.
func TestMessagesAreOnTheOwnersAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		d := newTold(w)
		w.net.Relay(otherURL)
		w.start()
		defer w.stop()
		last := func() string {
			d.mu.Lock()
			defer d.mu.Unlock()
			if all := d.parties[otherURL]; len(all) > 0 {
				return all[len(all)-1]
			}
			return "never told"
		}
		w.publish(testkit.Announcement(testkit.Key(1), time.Now().Unix(), "one", ours, otherURL))
		wait(time.Minute)
		if got, want := last(), testkit.Key(1).PubKey().String(); got != want {
			t.Errorf("on the account of %q, want %q", got, want)
		}
		w.publish(testkit.Announcement(testkit.Key(3), time.Now().Unix(), "two", ours, otherURL))
		wait(time.Minute)
		if got := last(); got != "" {
			t.Errorf("then on the account of %q", got)
		}
	})
}

// TestLongTextsEndTheConnection: a relay has no reason to write them, whatever it answers.
func TestLongTextsEndTheConnection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame []byte
		ends  bool
	}{
		{"notices", nostr.AppendNotice(nil, strings.Repeat("x", 4097)), true},
		{"oks", nostr.AppendOK(nil, nostr.ID{1}, true, strings.Repeat("x", 4097)), true},
		{"closed", nostr.AppendClosed(nil, "nothing", strings.Repeat("x", 4097)), true},
		{"eose", nostr.AppendEOSE(nil, strings.Repeat("x", 65)), true},
		{"notices as they are", nostr.AppendNotice(nil, strings.Repeat("x", 4096)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, boot, _ := settledWorld(t, 3)
				defer w.stop()
				for range 150 {
					boot.Send(tt.frame)
					wait(12 * time.Second)
				}
				s, _ := w.status(bootURL)
				if ended := s.Failures > 0 || boot.Dials() > 1; ended != tt.ends {
					t.Errorf("%d dials, %d failures", boot.Dials(), s.Failures)
				}
			})
		})
	}
}

// TestALongRefusalIsOne: what a relay says at length still counts.
func TestALongRefusalIsOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		refused, first, again := 0, time.Time{}, time.Duration(0)
		boot.Neg = testkit.NegNotice
		boot.Refuse = func(sub string, filters []nostr.Filter) string {
			if !first.IsZero() && again == 0 && time.Since(first) > time.Second {
				again = time.Since(first)
			}
			if refused == 3 || filters[0].Limit != nil && *filters[0].Limit == 0 {
				return ""
			}
			if refused++; refused == 1 {
				first = time.Now()
			}
			return string(nostr.AppendClosed(nil, sub, "rate-limited: "+strings.Repeat("slow down ", 1000)))
		}
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(p.all()...)
		if refused != 3 || boot.Dials() != 1 {
			t.Errorf("%d refused, %d dials", refused, boot.Dials())
		}
		if again < time.Minute || again > 80*time.Second { // sooner than what is not answered at all
			t.Errorf("asked again after %v", again)
		}
	})
}

// TestMessagesThatAreTooLongAreCounted as ones that nobody asked for, and the connection lives until there are too many.
func TestMessagesThatAreTooLongAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		d := newTold(w)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.settle()
		d.long.Store(true)
		for range 90 {
			boot.Send([]byte("x"))
		}
		wait(time.Minute)
		if boot.Dials() != 1 || boot.Open() == 0 {
			t.Fatalf("%d dials", boot.Dials())
		}
		for range 90 {
			boot.Send([]byte("x"))
		}
		wait(time.Minute)
		if s, _ := w.status(bootURL); boot.Dials() == 1 && s.Failures == 0 {
			t.Errorf("180 messages that are too long, and %+v", s)
		}
	})
}
