package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// endless is a relay that never ends the stored REQs that ask for #A.
type endless struct {
	*driver
	mint
	sub    string // of the one that is open
	asked  int
	closed []time.Duration // when they were closed
}

func newEndless(t *testing.T, c peer.Config) *endless {
	_, w := small(t, 0)
	x := &endless{driver: newDriver(t, c), mint: mint{N: 1 << 32}}
	x.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if !ok || r.Class == peer.Live || len(r.Filters[0].Tags) == 0 || r.Filters[0].Tags[0].Name != 'A' {
			return false
		}
		x.sub = r.Sub
		x.asked++
		return true
	}
	x.driver.closed = func(sub string) {
		if sub == x.sub {
			x.sub = ""
			x.closed = append(x.closed, x.clock.Mono)
		}
	}
	x.connect(w, capacity.Limits{})
	if x.asked != 1 {
		t.Fatalf("asked %d times at first", x.asked)
	}
	return x
}

// brings sends an event for the REQ that is open.
func (x *endless) brings(e *nostr.Event) {
	sub := x.sub
	x.do(peer.Received{Sub: sub, ID: e.ID, At: e.CreatedAt})
	x.do(peer.Decided{Sub: sub, ID: e.ID, Outcome: policy.Duplicate})
}

func (x *endless) confirmed() bool {
	s := x.peer.Status()
	return s.Confirmed.Repositories > 0
}

// TestAnAnswerWithoutEnd: the same event over and over is read so many times; then the REQ is closed and has failed,
// and is asked again after a wait that doubles.
func TestAnAnswerWithoutEnd(t *testing.T) {
	x := newEndless(t, peer.Config{NoNegentropy: true})
	e := x.Event(nostr.KindComment, key(1), 1000, nostr.Tag{"A", address(key(0), "x")})
	var waits []time.Duration
	for n := range 4 {
		for range 500 + peer.RequestRoom - 1 {
			x.brings(e)
		}
		if len(x.closed) != n {
			t.Fatalf("closed %d times, before there was too much for the %d. time", len(x.closed), n+1)
		}
		x.brings(e)
		if len(x.closed) != n+1 {
			t.Fatalf("closed %d times, after too much for the %d. time", len(x.closed), n+1)
		}
		before := x.clock.Mono
		for asked := x.asked; x.asked == asked; {
			x.pass(time.Second)
		}
		waits = append(waits, x.clock.Mono-before)
	}
	if x.confirmed() || waits[0] != time.Minute || waits[1] != 2*time.Minute || waits[3] != 8*time.Minute {
		t.Errorf("confirmed %v, waits %v", x.confirmed(), waits)
	}
	if gone := x.peer.Status(); !gone.Connected {
		t.Error("the connection is lost for it")
	}
}

// TestAnAnswerThatDrips ends after a while, though there is always some progress.
func TestAnAnswerThatDrips(t *testing.T) {
	x := newEndless(t, peer.Config{NoNegentropy: true})
	begun := x.clock.Mono
	for n := int64(0); len(x.closed) == 0 && x.clock.Mono < time.Hour; n++ {
		x.brings(x.Event(nostr.KindComment, key(1), n, nostr.Tag{"A", address(key(0), "x")}))
		x.pass(20 * time.Second)
	}
	if len(x.closed) == 0 || x.closed[0] != begun+10*time.Minute || x.confirmed() {
		t.Fatalf("closed at %v, confirmed %v", x.closed, x.confirmed())
	}
	x.hold = nil
	x.pass(time.Hour)
	if !x.confirmed() {
		t.Error("a relay that behaves again is not confirmed")
	}
}

// TestOneSecondThatDrips is asked for again and again, and never taken for done.
func TestOneSecondThatDrips(t *testing.T) {
	x := newEndless(t, peer.Config{NoNegentropy: true})
	e := x.Event(nostr.KindComment, key(1), 1000, nostr.Tag{"A", address(key(0), "x")})
	drips := x.hold
	x.hold = func(f peer.Effect) bool {
		r, ok := f.(peer.Request)
		return ok && r.Filters[0].Matches(e) && drips(f)
	}
	for x.clock.Mono < 12*time.Hour {
		if x.sub != "" {
			x.brings(e)
		}
		x.pass(25 * time.Second)
	}
	if x.confirmed() || len(x.closed) < 5 || len(x.closed) > 40 {
		t.Errorf("closed %d times in 12 hours, confirmed %v", len(x.closed), x.confirmed())
	}
}

// TestARelayThatTakesNoNoticeOfLimits is read completely, in pieces.
func TestARelayThatTakesNoNoticeOfLimits(t *testing.T) {
	for name, order := range map[string]func([]*nostr.Event){"newest first": slices.Reverse[[]*nostr.Event], "oldest first": func([]*nostr.Event) {}} {
		t.Run(name, func(t *testing.T) {
			_, w := small(t, 0)
			d, m := newDriver(t, peer.Config{NoNegentropy: true}), mint{N: 1 << 32}
			var all []*nostr.Event
			for n := range int64(25_000) {
				all = append(all, m.Event(nostr.KindComment, key(1), n, nostr.Tag{"A", address(key(0), "x")}))
			}
			order(all)
			got := make(map[nostr.ID]bool)
			d.serve = func(_ string, filters []nostr.Filter) (out []*nostr.Event) {
				if tags := filters[0].Tags; len(tags) == 0 || tags[0].Name != 'A' || *filters[0].Limit == 0 {
					return nil
				}
				for _, e := range all {
					if filters[0].Matches(e) {
						out = append(out, e)
					}
				}
				for _, e := range out[:min(len(out), *filters[0].Limit+peer.RequestRoom)] {
					got[e.ID] = true
				}
				return out
			}
			d.connect(w, capacity.Limits{})
			if d.peer.AllConfirmed() {
				t.Error("settled by what was cut")
			}
			d.pass(10 * time.Minute)
			if !d.peer.AllConfirmed() || len(got) != len(all) {
				t.Errorf("settled %v, %d of %d received", d.peer.AllConfirmed(), len(got), len(all))
			}
			if n := len(d.requests(peer.Catchup)); n > 60 {
				t.Errorf("%d REQs", n)
			}
		})
	}
}

// TestIDsWithoutEnd: what is asked by id and answered with one event over and over fails, and what came is not asked again.
func TestIDsWithoutEnd(t *testing.T) {
	_, w := small(t, 0)
	d, m := newDriver(t, peer.Config{}), mint{N: 1 << 32}
	one := m.Event(nostr.KindComment, key(1), 1000, nostr.Tag{"A", address(key(0), "x")})
	two := m.Event(nostr.KindComment, key(1), 1001, nostr.Tag{"A", address(key(0), "x")})
	d.neg = func(f nostr.Filter) (out []*nostr.Event) {
		for _, e := range []*nostr.Event{one, two} {
			if f.Matches(e) {
				out = append(out, e)
			}
		}
		return out
	}
	var byID []peer.Request
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if ok && r.Filters[0].IDs != nil && r.Class != peer.Live {
			byID = append(byID, r)
			return true
		}
		return false
	}
	closed := 0
	d.closed = func(sub string) {
		if len(byID) > 0 && sub == byID[0].Sub {
			closed++
		}
	}
	d.connect(w, capacity.Limits{})
	if len(byID) != 1 || len(byID[0].Filters[0].IDs) != 2 {
		t.Fatalf("asked by id: %v", byID)
	}
	for range 2 + peer.RequestRoom {
		d.do(peer.Received{Sub: byID[0].Sub, ID: one.ID, At: one.CreatedAt})
		d.do(peer.Decided{Sub: byID[0].Sub, ID: one.ID, Outcome: policy.Duplicate})
	}
	if closed != 1 {
		t.Fatalf("closed %d times", closed)
	}
	d.pass(5 * time.Minute)
	if len(byID) < 2 || !slices.Equal(byID[1].Filters[0].IDs, []nostr.ID{two.ID}) {
		t.Errorf("asked by id: %v", byID)
	}
}
