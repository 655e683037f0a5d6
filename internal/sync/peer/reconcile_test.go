package peer_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// library is what a relay has of one repository: comments on it.
type library struct {
	mint
	events []*nostr.Event
	ours   map[nostr.ID]bool
}

func newLibrary(n int) *library {
	l := &library{ours: map[nostr.ID]bool{}}
	for i := range n {
		l.events = append(l.events, l.Event(nostr.KindComment, key(9), 1_700_000_000+int64(i)*1000, nostr.Tag{"A", address(key(0), "x")}))
	}
	return l
}

// find returns the newest events of a filter, newest first.
func (l *library) find(f nostr.Filter, most int) []*nostr.Event {
	var out []*nostr.Event
	for _, e := range l.events {
		if f.Matches(e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *nostr.Event) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
	return out[:min(most, len(out))]
}

// reader is a driver between a library and a store that keeps what comes.
func (l *library) reader(t *testing.T, page int) *driver {
	t.Helper()
	d := newDriver(t, peer.Config{})
	d.own = func(f nostr.Filter) []*nostr.Event {
		var out []*nostr.Event
		for _, e := range l.find(f, len(l.events)) {
			if l.ours[e.ID] {
				out = append(out, e)
			}
		}
		return out
	}
	d.neg = func(f nostr.Filter) []*nostr.Event { return l.find(f, len(l.events)) }
	d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event {
		var out []*nostr.Event
		for _, f := range filters {
			out = append(out, l.find(f, min(*f.Limit, page))...)
		}
		for _, e := range out {
			l.ours[e.ID] = true
		}
		return out
	}
	return d
}

// byIDs counts the requests by id, and how often each id was asked for.
func (d *driver) byIDs() (requests int, times map[nostr.ID]int) {
	times = map[nostr.ID]int{}
	for _, r := range d.requests(peer.Catchup, peer.Daily) {
		if ids := r.Filters[0].IDs; ids != nil {
			requests++
			for _, id := range ids {
				times[id]++
			}
		}
	}
	return requests, times
}

func (d *driver) paged() int {
	n := 0
	for _, r := range d.requests(peer.Catchup, peer.Daily) {
		if r.Filters[0].IDs == nil {
			n++
		}
	}
	return n
}

func TestReconciliationMovesTheDifferenceOnly(t *testing.T) {
	l := newLibrary(3000)
	for i, e := range l.events {
		l.ours[e.ID] = i%10 > 0
	}
	_, w := small(t, 0)
	d := l.reader(t, 500)
	d.connect(w, capacity.Limits{})
	requests, times := d.byIDs()
	if len(l.ours) != 3000 || len(times) != 300 || requests != 3 || !d.peer.AllConfirmed() {
		t.Errorf("%d here, %d asked in %d requests", len(l.ours), len(times), requests)
	}
	counted := d.peer.Counted()
	if counted.Equal != 2700 || counted.Rounds < 3 || counted.NegSent < 300*64 || counted.NegReceived < 300*64 {
		t.Errorf("counted %+v", counted)
	}
	d.sent = nil
	d.pass(26 * time.Hour)
	if again := d.peer.Counted(); again.Equal != 2700+3000 || again.NegSent-counted.NegSent > 3000 {
		t.Errorf("equal sets: counted %+v after %+v", again, counted)
	}
	if requests, _ := d.byIDs(); requests != 0 || d.paged() > 1 {
		t.Errorf("equal sets: %d requests by id, %d pages", requests, d.paged())
	}
}

// TestNeededIDsAreAskedInPortionsThatTheRelayBears: a hundred at once, and five hundred where a relay tells that it gives
// as many events and takes such messages.
func TestNeededIDsAreAskedInPortionsThatTheRelayBears(t *testing.T) {
	for _, c := range []struct {
		told     capacity.Limits
		requests int
	}{
		{capacity.Limits{}, 20},
		{capacity.Limits{MaxLimit: 500}, 20},
		{capacity.Limits{MaxMessage: 128 << 10}, 20},
		{capacity.Limits{MaxLimit: 500, MaxMessage: 64<<10 - 1}, 20},
		{capacity.Limits{MaxLimit: 500, MaxMessage: 64 << 10}, 4},
		{capacity.Limits{MaxLimit: 250, MaxMessage: 128 << 10}, 8},
		{capacity.Limits{MaxLimit: 5000, MaxMessage: 512 << 10}, 4},
		{capacity.Limits{MaxLimit: 50, MaxMessage: 128 << 10}, 40},
	} {
		l := newLibrary(2000)
		_, w := small(t, 0)
		d := l.reader(t, 5000)
		d.connect(w, c.told)
		if requests, _ := d.byIDs(); requests != c.requests || len(l.ours) != 2000 {
			t.Errorf("%+v: %d requests, not %d; %d of 2000 here", c.told, requests, c.requests, len(l.ours))
		}
	}
}

// TestFewerIDsAreAskedAfterSilence: a relay that does not answer what is too much for it is asked for less.
func TestFewerIDsAreAskedAfterSilence(t *testing.T) {
	l := newLibrary(1000)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		return ok && len(r.Filters[0].IDs) > 100
	}
	d.connect(w, capacity.Limits{MaxLimit: 500, MaxMessage: 128 << 10})
	if len(l.ours) == 1000 {
		t.Error("nothing was withheld")
	}
	d.pass(5 * time.Minute)
	if len(l.ours) != 1000 || !d.peer.AllConfirmed() {
		t.Errorf("%d of 1000 here", len(l.ours))
	}
}

func TestCappedFetch(t *testing.T) {
	l := newLibrary(1000)
	_, w := small(t, 0)
	d := l.reader(t, 20)
	d.connect(w, capacity.Limits{})
	requests, _ := d.byIDs()
	if len(l.ours) != 1000 || requests > 60 || d.paged() > 1 {
		t.Errorf("%d here after %d requests by id and %d pages", len(l.ours), requests, d.paged())
	}
}

func TestUndelivered(t *testing.T) {
	l := newLibrary(150)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	lost := map[nostr.ID]bool{l.events[3].ID: true, l.events[77].ID: true}
	serve := d.serve
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		maps.DeleteFunc(l.ours, func(id nostr.ID, _ bool) bool { return lost[id] })
		return slices.DeleteFunc(out, func(e *nostr.Event) bool { return lost[e.ID] })
	}
	d.connect(w, capacity.Limits{})
	_, times := d.byIDs()
	for id := range lost {
		if times[id] != 2 {
			t.Errorf("%v is asked for %d times", id, times[id])
		}
	}
	if s := d.peer.Status(); !d.peer.AllConfirmed() || s.Counters.Undelivered != 2 || d.paged() < 2 {
		t.Errorf("%d pages, %+v", d.paged(), s)
	}
	d.sent = nil
	d.pass(20 * time.Hour)
	if len(d.sent) > 0 {
		t.Errorf("%d effects until the next resync", len(d.sent))
	}
}

// What a relay has forged is not asked of it again, on later connections neither, and a genuine copy that it sends otherwise is taken.
func TestForgedDelivery(t *testing.T) {
	l := newLibrary(10)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Filters[0].IDs == nil || len(d.requests(peer.Catchup)) > 1 {
			return nil
		}
		for _, id := range r.Filters[0].IDs {
			d.queue = append(d.queue, peer.Received{Sub: r.Sub, ID: id, At: 5}, peer.Decided{Sub: r.Sub, ID: id, Outcome: policy.Invalid})
		}
		return nostr.EOSE{Sub: r.Sub}
	}
	d.connect(w, capacity.Limits{})
	d.pass(25 * time.Hour)
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(time.Hour)
	d.do(peer.Connected{})
	d.pass(time.Hour)
	if requests, _ := d.byIDs(); len(l.ours) != 10 || requests != 1 || !d.peer.AllConfirmed() {
		t.Errorf("%d here after %d requests by id: %+v", len(l.ours), requests, d.peer.Status())
	}
}

// What a page shows later is not undelivered.
func TestDeliveredByPaging(t *testing.T) {
	l := newLibrary(30)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	serve := d.serve
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		if filters[0].IDs != nil {
			return nil // this relay does not know ids
		}
		return serve(sub, filters)
	}
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); len(l.ours) != 30 || s.Counters.Undelivered != 0 || !d.peer.AllConfirmed() {
		t.Errorf("%d here, %+v", len(l.ours), s)
	}
}

// A relay that finds a set too big is asked for parts of the time.
func TestWindows(t *testing.T) {
	for _, ours := range []int{0, 1, 2} { // nothing, half of it, all of it
		for _, records := range []int{10, 100} {
			t.Run(fmt.Sprint(ours, " ", records), func(t *testing.T) {
				l := newLibrary(400)
				for i, e := range l.events {
					if ours > 0 && i%ours == 0 {
						l.ours[e.ID] = true
					}
				}
				_, w := small(t, 0)
				d := l.reader(t, 500)
				opens := 0
				d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
					opens++
					if len(l.find(e.Filter, 1000)) > records {
						return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results", Max: int64(records)}
					}
					return nil
				}
				d.connect(w, capacity.Limits{})
				if len(l.ours) != 400 || !d.peer.AllConfirmed() || d.paged() > 2 || d.peer.Status().Negentropy != "works" {
					t.Errorf("%d here, %d pages, %+v", len(l.ours), d.paged(), d.peer.Status())
				}
				if opens > 16*400/records {
					t.Errorf("%d NEG-OPENs", opens)
				}
			})
		}
	}
	t.Run("one second is too big", func(t *testing.T) {
		l := newLibrary(0)
		for range 50 {
			l.events = append(l.events, l.Event(nostr.KindComment, key(9), 1_700_000_000, nostr.Tag{"A", address(key(0), "x")}))
		}
		_, w := small(t, 0)
		d := l.reader(t, 500)
		opens := 0
		d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
			if opens++; len(l.find(e.Filter, 1000)) > 10 {
				return nostr.NegErr{Sub: e.Sub, Reason: "RESULTS_TOO_BIG"}
			}
			return nil
		}
		d.connect(w, capacity.Limits{})
		if len(l.ours) != 50 || !d.peer.AllConfirmed() || opens > 100 {
			t.Errorf("%d here after %d NEG-OPENs", len(l.ours), opens)
		}
	})
	t.Run("always too big", func(t *testing.T) {
		l := newLibrary(50)
		_, w := small(t, 0)
		d := l.reader(t, 500)
		opens := 0
		d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
			opens++
			return nostr.NegErr{Sub: e.Sub, Reason: "too big"}
		}
		d.connect(w, capacity.Limits{})
		if len(l.ours) != 50 || !d.peer.AllConfirmed() || opens > 6*4096 {
			t.Errorf("%d here after %d NEG-OPENs", len(l.ours), opens)
		}
	})
}

// A relay that reconciles its newest events only is found out and read in full.
func TestTruncatingRelay(t *testing.T) {
	for _, ours := range []int{0, 300, 900} { // of the oldest
		t.Run(fmt.Sprint(ours), func(t *testing.T) {
			l := newLibrary(900)
			for _, e := range l.events[:ours] {
				l.ours[e.ID] = true
			}
			_, w := small(t, 0)
			d := l.reader(t, 500)
			d.neg = func(f nostr.Filter) []*nostr.Event { return l.find(f, 200) }
			d.connect(w, capacity.Limits{})
			if s := d.peer.Status(); len(l.ours) != 900 || s.Negentropy != "truncates" || !d.peer.AllConfirmed() {
				t.Errorf("%d here, %+v", len(l.ours), s)
			}
		})
	}
	t.Run("cut within a second", func(t *testing.T) {
		l := newLibrary(0)
		for i := range 400 {
			l.events = append(l.events, l.Event(nostr.KindComment, key(9), 1_700_000_000+int64(i/10)*1000, nostr.Tag{"A", address(key(0), "x")}))
		}
		_, w := small(t, 0)
		d := l.reader(t, 500)
		d.neg = func(f nostr.Filter) []*nostr.Event { return l.find(f, 205) }
		d.connect(w, capacity.Limits{})
		if len(l.ours) != 400 {
			t.Errorf("%d here", len(l.ours))
		}
	})
	t.Run("a small answer is not paged", func(t *testing.T) {
		l := newLibrary(99)
		_, w := small(t, 0)
		d := l.reader(t, 500)
		d.connect(w, capacity.Limits{})
		if d.paged() != 0 || d.peer.Status().Negentropy != "works" {
			t.Errorf("%d pages", d.paged())
		}
	})
	t.Run("an honest one is probed once", func(t *testing.T) {
		l := newLibrary(500)
		_, w := small(t, 0)
		d := l.reader(t, 500)
		d.connect(w, capacity.Limits{})
		if d.paged() != 0 || len(d.edgeProbes()) > 6+1 || d.peer.Status().Negentropy != "works" {
			t.Errorf("%d pages, %d probes of 6 filters, %+v", d.paged(), len(d.edgeProbes()), d.peer.Status())
		}
		d.sent = nil
		d.pass(26 * time.Hour)
		if n := len(d.edgeProbes()); d.paged() != 0 || n != 6 {
			t.Errorf("the day after: %d pages, %d probes of 6 filters", d.paged(), n)
		}
	})
	t.Run("we have older events that it lacks", func(t *testing.T) {
		l := newLibrary(500)
		for _, e := range l.events {
			l.ours[e.ID] = true
		}
		_, w := small(t, 0)
		d := l.reader(t, 500)
		since := l.events[300].CreatedAt
		cut := func(f nostr.Filter) []*nostr.Event {
			return slices.DeleteFunc(l.find(f, 500), func(e *nostr.Event) bool { return e.CreatedAt < since })
		}
		d.neg = cut
		d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event { return cut(filters[0]) }
		d.connect(w, capacity.Limits{})
		if d.peer.Status().Negentropy != "works" || d.paged() != 0 {
			t.Errorf("%d pages, %+v", d.paged(), d.peer.Status())
		}
	})
}

func TestMalformedReconciliation(t *testing.T) {
	l := newLibrary(40)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage { return nostr.NegMsg{Sub: e.Sub, Msg: []byte{0x61, 0xff}} }
	d.connect(w, capacity.Limits{})
	if len(l.ours) != 40 || !d.peer.AllConfirmed() {
		t.Errorf("%d here, %+v", len(l.ours), d.peer.Status())
	}
}

// Two reconciliations at once find that the same events are needed: those are
// fetched once, and by the other task where the first has no luck.
func TestWhatTwoFiltersNeedIsFetchedOnce(t *testing.T) {
	at := address(key(0), "x")
	for _, unlucky := range []bool{false, true} {
		l := newLibrary(0)
		for i := range 40 {
			l.events = append(l.events, l.Event(nostr.KindComment, key(9), 1_700_000_000+int64(i), nostr.Tag{"a", at}, nostr.Tag{"A", at}))
		}
		_, w := small(t, 0)
		d := l.reader(t, 500)
		refused := 0
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if r.Filters[0].IDs == nil || !unlucky || refused > 0 {
				return nil
			}
			refused++
			return nostr.Closed{Sub: r.Sub, Reason: "error: not now"}
		}
		d.connect(w, capacity.Limits{})
		requests, times := d.byIDs()
		if len(l.ours) != 40 || len(times) != 40 || requests != 1+refused || d.peer.AllConfirmed() == unlucky {
			t.Errorf("unlucky %v: %d here, %d asked for in %d requests", unlucky, len(l.ours), len(times), requests)
		}
		d.pass(5 * time.Minute)
		if again, _ := d.byIDs(); again != requests+refused || !d.peer.AllConfirmed() { // the refused one is sent again
			t.Errorf("unlucky %v: %d requests by id, %+v", unlucky, again, d.peer.Status())
		}
	}
}

// An event that is shown in every window, whatever its time, and never delivered
// is asked for a few times, not for ever: once it counted as one of two that had come.
func TestShownInEveryWindowAndNeverDelivered(t *testing.T) {
	l := newLibrary(60)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	lost := l.events[7]
	find, serve := d.neg, d.serve
	d.neg = func(f nostr.Filter) []*nostr.Event {
		out := slices.DeleteFunc(find(f), func(e *nostr.Event) bool { return e == lost })
		if len(f.Tags) > 0 && f.Tags[0].Name == 'A' {
			out = append(out, lost)
		}
		return out
	}
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		delete(l.ours, lost.ID)
		return slices.DeleteFunc(out, func(e *nostr.Event) bool { return e == lost })
	}
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if len(d.neg(e.Filter)) > 20 {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results", Max: 20}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	if _, times := d.byIDs(); !d.peer.AllConfirmed() || times[lost.ID] != 2 {
		t.Errorf("asked for %d times, %+v", times[lost.ID], d.peer.Status())
	}
}

// Ids that a relay invents, window after window, are waited for up to a bound;
// then the rest is paged.
func TestInventedIDsOfManyWindows(t *testing.T) {
	l := newLibrary(400)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	d.peer.SetMostNeeded(100)
	d.serve = func(string, []nostr.Filter) []*nostr.Event { return nil } // it has none of them
	opens := 0
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		opens++
		if len(d.neg(e.Filter)) > 30 {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results", Max: 30}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(time.Hour)
	_, times := d.byIDs()
	if !d.peer.AllConfirmed() || len(times) > 130 {
		t.Errorf("%d ids were asked for after %d NEG-OPENs, %+v", len(times), opens, d.peer.Status())
	}
}

// What a relay refused long ago it may grant at the next connection, if that is
// not a quick one: it does not have to be up for a whole day.
func TestAStaleReconnectTriesNegentropyAgain(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	grants := false
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if !grants {
			return nostr.NegErr{Sub: e.Sub, Reason: "error: no negentropy here"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); s.Negentropy != "refused" {
		t.Fatalf("%+v", s)
	}
	grants = true
	for _, c := range []struct {
		away time.Duration
		want string
	}{{5 * time.Minute, "refused"}, {20 * time.Minute, "works"}} {
		d.do(peer.Disconnected{Reason: "lost"})
		d.pass(c.away)
		d.do(peer.Connected{})
		if s := d.peer.Status(); s.Negentropy != c.want || !s.Connected {
			t.Errorf("after %v: %+v", c.away, s)
		}
	}
}

// What a comparison showed before it was interrupted is looked up here like all else: some is found by another filter only.
func TestWhatAnInterruptedComparisonShowedIsLookedUp(t *testing.T) {
	l := newLibrary(300)
	loose, lacked := l.events[3].ID, l.events[5].ID
	for i, e := range l.events {
		l.ours[e.ID] = e.ID != lacked && (i < 100 || i >= 200)
	}
	_, w := small(t, 0)
	d := l.reader(t, 500)
	own := d.own
	d.own = func(f nostr.Filter) []*nostr.Event {
		return slices.DeleteFunc(own(f), func(e *nostr.Event) bool { return len(f.Tags) > 0 && e.ID == loose })
	}
	interrupted := false
	d.hold = func(e peer.Effect) bool {
		next, ok := e.(peer.ContinueNeg)
		if !ok || interrupted {
			return false
		}
		interrupted = true
		d.frame(nostr.NegErr{Sub: next.Sub, Reason: "closed: too many sessions"})
		return true
	}
	d.connect(w, capacity.Limits{})
	_, times := d.byIDs()
	if !interrupted || times[loose] > 0 || times[lacked] != 1 || len(times) != 101 || !d.peer.AllConfirmed() {
		t.Errorf("interrupted %v; what is here is asked %d times, what is not %d times, %d ids; settled %v", interrupted, times[loose], times[lacked], len(times), d.peer.AllConfirmed())
	}
}

// Where that could not be looked up, it is once more before it is asked for again: it may have come another way.
func TestWhatDidNotComeIsLookedUpUntilThatSucceeds(t *testing.T) {
	l := newLibrary(1)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	serve := d.serve
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		if filters[0].IDs != nil {
			return nil
		}
		return serve(sub, filters)
	}
	lookups := 0
	d.hold = func(e peer.Effect) bool {
		s, ok := e.(peer.Sift)
		if !ok {
			return false
		}
		if lookups++; lookups != 2 {
			return false
		}
		d.queue = append(d.queue, peer.Sifted{Sub: s.Sub, Failed: true})
		l.ours[l.events[0].ID] = true
		return true
	}
	d.connect(w, capacity.Limits{})
	d.pass(10 * time.Minute)
	if _, times := d.byIDs(); lookups != 3 || times[l.events[0].ID] != 1 || !d.peer.AllConfirmed() {
		t.Errorf("looked up %d times, asked %d times, settled %v", lookups, times[l.events[0].ID], d.peer.AllConfirmed())
	}
}
