package peer_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// twins are this relay and a remote one that hold about the same.
type twins struct {
	*driver
	mint
	f            *fold
	ours, theirs []*nostr.Event
}

// newTwins makes both with a repository, some root events and n comments.
func newTwins(t testing.TB, n int, c peer.Config) *twins {
	f, _ := small(t, 5)
	if c.WholeFrom == 0 {
		c.WholeFrom = 1
	}
	w := &twins{driver: newDriver(t, c), mint: mint{N: 1 << 32}, f: f}
	w.own = func(f nostr.Filter) []*nostr.Event { return matching(w.ours, f) }
	w.neg = func(f nostr.Filter) []*nostr.Event { return matching(w.theirs, f) }
	w.serve = func(_ string, filters []nostr.Filter) (out []*nostr.Event) {
		for _, f := range filters {
			found := matching(w.theirs, f)
			out = append(out, found[:min(len(found), *f.Limit)]...)
		}
		for _, e := range out {
			if !slices.Contains(w.ours, e) {
				w.ours = append(w.ours, e)
			}
		}
		return out
	}
	for i := range n {
		e := w.comment(int64(i))
		w.ours, w.theirs = append(w.ours, e), append(w.theirs, e)
	}
	return w
}

func matching(all []*nostr.Event, f nostr.Filter) (out []*nostr.Event) {
	for _, e := range all {
		if f.Matches(e) {
			out = append(out, e)
		}
	}
	return out
}

// comment is about a root event, and so many seconds younger than the first.
func (w *twins) comment(age int64) *nostr.Event {
	ids := wanttest.RootIDs(w.want(), w.want().Repos[0])
	return w.mint.Event(nostr.KindComment, key(9), epoch.Unix()-10_000_000+age, nostr.Tag{"E", ids[age%5].String()})
}

func (w *twins) want() *peer.Want { return w.f.Wants[here] }

// begin connects for the first time.
func (w *twins) begin() *twins {
	w.connect(w.want(), capacity.Limits{})
	w.pass(20 * time.Second)
	return w
}

// again loses the connection and gets another one after a while.
func (w *twins) again(gap time.Duration) {
	w.do(peer.Disconnected{Reason: "reset"})
	w.pass(gap)
	w.open, w.sent = map[string]peer.Request{}, nil
	w.do(peer.Connected{})
}

// without counts the live REQs and the reconciliations that were asked without a filter, and all of them.
func (w *twins) without() (live, negs, all int) {
	bare := func(f nostr.Filter) bool { return f.Kinds == nil && f.IDs == nil && f.Authors == nil && f.Tags == nil }
	for _, e := range w.sent {
		switch e := e.(type) {
		case peer.Request:
			if e.Class != peer.Live {
				continue
			}
			if all++; bare(e.Filters[0]) {
				live++
			}
		case peer.OpenNeg:
			if all++; bare(e.Filter) {
				negs++
			}
		}
	}
	return live, negs, all
}

// wholly fails the test unless everything was asked by one live REQ and one reconciliation, and is confirmed.
func (w *twins) wholly(when string) {
	w.t.Helper()
	if live, negs, all := w.without(); live != 1 || negs != 1 || all != 2 || !w.peer.AllConfirmed() {
		w.t.Errorf("%s: %d live REQs and %d reconciliations without a filter, of %d; %+v", when, live, negs, all, w.peer.Status())
	}
}

// told counts the lines of the log with that text.
func (w *twins) told(text string) (n int) {
	for _, r := range w.reports {
		if strings.Contains(r.Text, text) {
			n++
		}
	}
	return n
}

// byItems fails the test unless everything was asked with filters in the end, and is confirmed.
func (w *twins) byItems(when string) {
	w.t.Helper()
	for _, f := range w.following() {
		if f.Kinds == nil && f.Tags == nil {
			w.t.Errorf("%s: it is still followed as a whole", when)
		}
	}
	if !w.peer.AllConfirmed() || len(w.following()) < 5 {
		w.t.Errorf("%s: %d live filters; %+v", when, len(w.following()), w.peer.Status())
	}
}

func TestARelayThatHoldsTheSameIsAskedAsAWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	if live, negs, _ := w.without(); live != 0 || negs != 1 || !w.peer.AllConfirmed() {
		t.Fatalf("at first %d live REQs and %d reconciliations without a filter", live, negs)
	}
	for _, gap := range []time.Duration{time.Minute, time.Hour, 20 * time.Hour} {
		w.again(gap)
		w.wholly(gap.String())
	}
	w.sent = nil
	w.pass(26 * time.Hour)
	if live, negs, _ := w.without(); live != 0 || negs != 1 || !w.peer.AllConfirmed() {
		t.Errorf("in a full resync %d live REQs and %d reconciliations without a filter", live, negs)
	}
}

// A full resync of a relay that was found alike goes on as a whole, with the connection that there is.
func TestAFullResyncTurnsToTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.sent = nil
	w.pass(26 * time.Hour)
	if live, negs, _ := w.without(); live != 1 || negs != 1 || len(w.following()) != 1 || !w.peer.AllConfirmed() {
		t.Errorf("%d live REQs and %d reconciliations without a filter, %d filters are live", live, negs, len(w.following()))
	}
}

func TestAsAWholeTheDifferenceIsFetched(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.do(peer.Disconnected{Reason: "reset"})
	for i := range 40 {
		w.theirs = append(w.theirs, w.comment(int64(1000*i)))
	}
	w.again(time.Hour)
	w.wholly("with events that came meanwhile")
	if len(w.ours) != 340 {
		t.Errorf("%d of 340 events are here", len(w.ours))
	}
	if requests, times := w.byIDs(); requests != 1 || len(times) != 40 {
		t.Errorf("%d events were asked for in %d requests", len(times), requests)
	}
}

// What is wanted later needs no live REQ of its own, and what is stored of it is asked as ever.
func TestWhatIsWantedLaterIsFollowedAlready(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.again(time.Hour)
	w.sent = nil
	w.f.AddAll(w.f.Issue(77, address(key(0), "x"))).Step()
	old := w.mint.Event(nostr.KindComment, key(9), epoch.Unix()-77, nostr.Tag{"e", wanttest.RootIDs(w.want(), w.want().Repos[0])[5].String()})
	w.theirs = append(w.theirs, old)
	w.do(peer.Wanted{Want: w.want()})
	if live, negs, all := w.without(); live != 0 || negs != 0 || all != 3 || !w.peer.AllConfirmed() || !slices.Contains(w.ours, old) {
		t.Errorf("%d live REQs, %d reconciliations without a filter, %d in all; here %v", live, negs, all, slices.Contains(w.ours, old))
	}
	for _, id := range wanttest.RootIDs(w.want(), w.want().Repos[0]) {
		w.f.Remove(id)
	}
	w.f.Step()
	w.do(peer.Wanted{Want: w.want()})
	if err := w.peer.Check(); err != nil {
		t.Error(err)
	}
}

// What is too much beside the one live REQ tells nothing of how much the relay bears.
func TestWhatIsFullBesideTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.again(time.Hour)
	w.f.AddAll(w.f.Issue(77, address(key(0), "x"))).Step()
	refused := 0
	w.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live {
			return nil
		}
		refused++
		return nostr.Closed{Sub: r.Sub, Reason: "blocked: there are subscriptions from this IP with a total filter cost of 1"}
	}
	w.theirs = append(w.theirs, w.mint.Event(nostr.KindComment, key(9), epoch.Unix()-77, nostr.Tag{"e", wanttest.RootIDs(w.want(), w.want().Repos[0])[5].String()}))
	w.do(peer.Wanted{Want: w.want()})
	if w.refuse = nil; refused == 0 {
		t.Fatal("nothing is refused")
	}
	for _, sub := range slices.Collect(maps.Keys(w.open)) {
		w.do(peer.Frame{Message: nostr.Closed{Sub: sub, Reason: "error: no"}})
	}
	w.pass(time.Hour)
	w.byItems("after the whole")
	if n := w.peer.Status().SweptRoots; n > 0 {
		t.Errorf("%d root events are not followed", n)
	}
}

func TestARelayThatDiffersMuchIsAskedByItems(t *testing.T) {
	for name, change := range map[string]func(*twins){
		"it has more": func(w *twins) {
			for i := range 1100 {
				e := w.comment(int64(i))
				e.Tags = nostr.Tags{{"t", "else"}}
				w.theirs = append(w.theirs, e)
			}
		},
		"it has less": func(w *twins) {
			for i := range 1100 {
				w.ours = append(w.ours, w.comment(int64(i)))
			}
		},
	} {
		w := newTwins(t, 300, peer.Config{})
		change(w)
		w.begin()
		if _, negs, _ := w.without(); negs != 1 || !w.peer.AllConfirmed() {
			t.Errorf("%s: %d reconciliations without a filter", name, negs)
		}
		if requests, _ := w.byIDs(); requests > 0 {
			t.Errorf("%s: %d requests by id", name, requests)
		}
		for range 3 {
			w.again(time.Hour)
			if _, negs, _ := w.without(); negs != 0 {
				t.Errorf("%s: within a day it is compared as a whole once more", name)
			}
			w.byItems(name)
		}
		// One that is known to be alike and no longer is.
		w = newTwins(t, 300, peer.Config{}).begin()
		change(w)
		w.again(time.Hour)
		w.byItems(name + " in the end")
		w.sent = nil
		w.again(time.Hour)
		if live, negs, _ := w.without(); live+negs != 0 {
			t.Errorf("%s: within a day it is asked as a whole once more", name)
		}
	}
}

// A relay that holds next to nothing shows with its first message that it lacks everything. That is noticed before all of
// it is written down, or many such relays at once would take much memory.
func TestWhatARelayLacksOfTheWholeIsBounded(t *testing.T) {
	const n = 200_000
	w := newTwins(t, 0, peer.Config{})
	items := make([]negentropy.Item, n)
	for i := range items {
		items[i] = negentropy.Item{Time: uint64(1_700_000_000 + i), ID: [32]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}}
	}
	everything := negentropy.NewSet(items)
	var open peer.OpenNeg
	w.hold = func(e peer.Effect) bool {
		switch e := e.(type) {
		case peer.LoadSet:
			if e.Most > 0 {
				w.queue = append(w.queue, peer.Loaded{Sub: e.Sub, Set: everything, Values: make([]int16, n)})
				return true
			}
		case peer.OpenNeg:
			if e.Filter.Tags == nil && e.Filter.Kinds == nil {
				open = e
				return true
			}
		}
		return false
	}
	w.begin()
	answer, err := negentropy.Respond(negentropy.NewSet(nil), 0, open.Msg)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.do(peer.Frame{Message: nostr.NegMsg{Sub: open.Sub, Msg: answer}})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("%d bytes", took)
	}
	if w.peer.Record().Alike || !w.peer.AllConfirmed() {
		t.Error("it is taken for alike")
	}
}

// A refusal of what has no filter is about that, and teaches nothing about other requests.
func TestARelayThatRefusesTheWholeIsAskedByItems(t *testing.T) {
	for _, text := range []string{kindlessText, "blocked: no", "restricted: not for you", "unsupported: negentropy", "auth-required: who are you", "ERROR: bad req: arr too big"} {
		live := newTwins(t, 300, peer.Config{}).begin()
		live.refuse = func(r peer.Request) nostr.RelayMessage {
			if f := r.Filters[0]; r.Class == peer.Live && f.Tags == nil && f.Kinds == nil {
				return nostr.Closed{Sub: r.Sub, Reason: text}
			}
			return nil
		}
		neg := newTwins(t, 300, peer.Config{}).begin()
		neg.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
			if f := e.Filter; f.Tags == nil && f.Kinds == nil {
				return nostr.NegErr{Sub: e.Sub, Reason: text}
			}
			return nil
		}
		for name, w := range map[string]*twins{"live": live, "reconciliation": neg} {
			w.again(time.Hour)
			w.pass(time.Minute)
			w.byItems(name + ": " + text)
			if w.peer.AddsKinds() || w.peer.Status().Negentropy != "works" {
				t.Errorf("%s: %s: it is taken for a refusal of something else, %s", name, text, w.peer.Status().Negentropy)
			}
			w.again(time.Hour)
			if live, negs, _ := w.without(); live+negs > 0 != strings.HasPrefix(text, "auth") {
				t.Errorf("%s: %s: the next time %d live REQs and %d reconciliations without a filter", name, text, live, negs)
			}
		}
	}
}

// A relay that answers a NEG-OPEN without a filter with silence, or by hanging up, still gets those with one.
func TestSilenceAboutTheWholeIsNoLackOfNegentropy(t *testing.T) {
	for _, hangUp := range []bool{false, true} {
		w := newTwins(t, 300, peer.Config{}).begin()
		w.hold = func(e peer.Effect) bool {
			open, is := e.(peer.OpenNeg)
			return is && open.Filter.Tags == nil && open.Filter.Kinds == nil
		}
		w.again(time.Hour)
		if hangUp {
			w.again(time.Hour)
		} else {
			w.pass(time.Minute)
		}
		w.byItems(fmt.Sprint("hangs up: ", hangUp))
		if got := w.peer.Status().Negentropy; got != "works" {
			t.Errorf("hangs up: %v: negentropy %s", hangUp, got)
		}
	}
}

// A live REQ without a filter that brings mostly what nobody wants is not worth it.
func TestARelayWithMuchElseIsFollowedByItems(t *testing.T) {
	for _, c := range []struct {
		of, unwanted int
		whole        bool
	}{{499, 499, true}, {500, 251, false}, {500, 250, true}, {2000, 900, true}} {
		w := newTwins(t, 300, peer.Config{}).begin()
		w.again(time.Hour)
		sub := ""
		for s, r := range w.open {
			if r.Class == peer.Live {
				sub = s
			}
		}
		for i := range c.of {
			e := w.comment(int64(i))
			out := policy.Accept
			if i%500 < c.unwanted*500/c.of || i < c.unwanted && c.of <= 500 {
				out = []policy.Outcome{policy.Refuse, policy.Unrelated, policy.Discard}[i%3]
			}
			w.do(peer.Received{Sub: sub, ID: e.ID, At: e.CreatedAt})
			w.do(peer.Decided{Sub: sub, ID: e.ID, Outcome: out})
			if i%7 == 0 { // what another relay was faster with tells nothing
				w.do(peer.Received{Sub: sub, ID: e.ID, At: e.CreatedAt})
				w.do(peer.Decided{Sub: sub, ID: e.ID, Outcome: policy.Duplicate})
			}
		}
		if whole := len(w.following()) == 1; whole != c.whole || !w.peer.AllConfirmed() {
			t.Errorf("%d of %d unwanted: as a whole %v", c.unwanted, c.of, whole)
		}
	}
}

// An event that the live REQ without a filter should have brought: such a relay is followed by items for a week.
func TestAGapEndsTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.again(time.Hour)
	w.pass(time.Hour)
	e := w.mint.Event(nostr.KindComment, key(9), w.clock.Wall.Unix()-600, nostr.Tag{"E", wanttest.RootIDs(w.want(), w.want().Repos[0])[0].String()})
	w.theirs = append(w.theirs, e)
	w.pass(26 * time.Hour)
	if w.peer.Gaps() != 1 || !slices.Contains(w.ours, e) {
		t.Fatalf("%d gaps", w.peer.Gaps())
	}
	w.byItems("after a gap")
	w.sent = nil
	w.pass(6 * 24 * time.Hour)
	if live, negs, _ := w.without(); live+negs != 0 {
		t.Error("it is asked as a whole within a week")
	}
	w.pass(3 * 24 * time.Hour)
	if live, negs, _ := w.without(); live == 0 || negs == 0 {
		t.Error("it is not asked as a whole any more")
	}
}

// What the relay shows and never sends holds nothing up, and is not looked for in pages of everything.
func TestAsAWholeWhatIsWithheldHoldsNothingUp(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	hidden := w.comment(5)
	hidden.Tags = nil // nothing leads to it
	serve := w.serve
	w.theirs = append(w.theirs, hidden)
	w.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		return slices.DeleteFunc(serve(sub, filters), func(e *nostr.Event) bool {
			w.ours = slices.DeleteFunc(w.ours, func(x *nostr.Event) bool { return x == hidden })
			return e == hidden
		})
	}
	w.again(time.Hour)
	w.byItems("something is withheld")
	for _, r := range w.requests(peer.Catchup) {
		if f := r.Filters[0]; f.IDs == nil && f.Tags == nil && f.Kinds == nil && *f.Limit > 5 {
			t.Error("everything is paged")
		}
	}
	w.again(time.Hour)
	w.wholly("it is known to be withheld")
}

func TestCoverageOfTheWhole(t *testing.T) {
	w := newTwins(t, 40, peer.Config{}).begin()
	coverage := func() string { return fmt.Sprintf("%.3f", *w.peer.Status().Coverage) }
	if coverage() != "1.000" {
		t.Fatalf("covered %s", coverage())
	}
	w.remembered = map[nostr.ID]bool{}
	for i := range 10 {
		w.ours = append(w.ours, w.comment(int64(i)))
		x := w.comment(int64(i))
		w.ours, w.remembered[x.ID] = append(w.ours, x), true
	}
	w.ours = append(w.ours, w.mint.Event(nostr.KindComment, key(9), epoch.Unix()-7, nostr.Tag{"q", address(key(0), "x")}))
	w.again(time.Hour)
	w.wholly("the relay lacks something")
	// Held is as it was when it was asked by items, but at least what is lacked.
	if got := coverage(); got != fmt.Sprintf("%.3f", 1-11.0/41) {
		t.Errorf("covered %s", got)
	}
	var told []string
	for _, r := range w.reports {
		if strings.Contains(r.Text, "lacks events") {
			told = append(told, fmt.Sprint(r.Args...))
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "count 11") && !strings.Contains(told[0], "count11") {
		t.Errorf("told %q", told)
	}
	lacking := coverage()
	w.hold = func(e peer.Effect) bool {
		a, is := e.(peer.Attribute)
		if is {
			w.queue = append(w.queue, peer.Attributed{Sub: a.Sub, Failed: true})
		}
		return is
	}
	w.ours = append(w.ours, w.comment(3))
	w.again(time.Hour)
	if got := coverage(); got != lacking || !w.peer.AllConfirmed() { // what was known stays
		t.Errorf("covered %s when it could not be read", got)
	}
	w.hold, w.theirs = nil, slices.Clone(w.ours)
	w.again(time.Hour)
	if got := coverage(); got != "1.000" {
		t.Errorf("covered %s when nothing is lacked", got)
	}
}

// What a comparison told of coverage counts once: also when the relay was asked by items before the store answered, and not
// when everything is compared again.
func TestCoverageOfTheWholeIsToldOnce(t *testing.T) {
	for _, refused := range []bool{true, false} {
		t.Run(fmt.Sprint("refused ", refused), func(t *testing.T) {
			w := newTwins(t, 40, peer.Config{}).begin()
			for i := range 10 {
				w.ours = append(w.ours, w.comment(int64(i)))
			}
			var late *peer.Attribute
			w.hold = func(e peer.Effect) bool {
				a, is := e.(peer.Attribute)
				if is = is && late == nil; is {
					late = &a
				}
				return is
			}
			w.again(time.Hour)
			w.wholly("before")
			if late == nil {
				t.Fatal("nothing is asked of the store")
			}
			if refused {
				for _, sub := range slices.Collect(maps.Keys(w.open)) {
					w.do(peer.Frame{Message: nostr.Closed{Sub: sub, Reason: "error: no"}})
				}
				w.pass(time.Minute)
				w.byItems("after")
				w.do(w.attribute(*late))
			} else {
				var open *peer.OpenNeg
				w.hold = func(e peer.Effect) bool {
					n, is := e.(peer.OpenNeg)
					if is = is && open == nil && n.Filter.Tags == nil && n.Filter.Authors == nil; is {
						open = &n
					}
					return is
				}
				for i := 0; open == nil && i < 26*60; i++ {
					w.pass(time.Minute)
				}
				w.do(w.attribute(*late))
				w.theirs = w.ours
				w.answer(*open)
				w.do(peer.Tick{})
			}
			want := "0.750" // 10 of 40 are lacked more
			if !refused {
				want = "1.000"
			}
			if c := w.peer.Status().Coverage; c == nil || fmt.Sprintf("%.3f", *c) != want || !w.peer.AllConfirmed() {
				t.Errorf("not covered %s, or not settled; %+v", want, w.peer.Status())
			}
		})
	}
}

// A relay of which little is wanted, or that is not to be reconciled with, is asked by items.
func TestTheWholeIsNotAlwaysTried(t *testing.T) {
	for name, c := range map[string]peer.Config{"little is wanted": {WholeFrom: 8}, "usual": {WholeFrom: 500}, "no negentropy": {NoNegentropy: true}} {
		w := newTwins(t, 300, c).begin()
		w.again(time.Hour)
		if live, negs, _ := w.without(); live+negs != 0 {
			t.Errorf("%s: it is asked as a whole", name)
		}
	}
	w := newTwins(t, 300, peer.Config{WholeFrom: 7}).begin()
	w.again(time.Hour)
	w.wholly("seven are wanted")
	// Nor is one that hangs up when it is asked to reconcile.
	past := w.peer.Record()
	past.HangsUp = true
	w = newTwins(t, 300, peer.Config{Past: past}).begin()
	if live, negs, _ := w.without(); live+negs != 0 || !past.Alike {
		t.Error("a relay that is not reconciled with is asked as a whole")
	}
	// Where one REQ is all that the relay allows, there is none to spare.
	w = newTwins(t, 300, peer.Config{})
	w.connect(w.want(), capacity.Limits{MaxSubscriptions: 1})
	w.pass(time.Hour)
	if live, negs, _ := w.without(); live+negs != 0 {
		t.Error("a relay that allows one REQ is asked as a whole")
	}
}

// A relay that hangs up at what has no filter is asked by items at the next connection, for a day, whether it was known to
// be alike or not, and whether its NIP-77 was in use or not.
func TestARelayThatHangsUpAtTheWhole(t *testing.T) {
	for _, at := range []string{"probe", "comparison", "live"} {
		for _, gap := range []time.Duration{time.Minute, time.Hour} {
			w := newTwins(t, 300, peer.Config{})
			held := false
			hold := func(e peer.Effect) bool {
				is := false
				switch e := e.(type) {
				case peer.OpenNeg:
					is = at != "live" && e.Filter.Tags == nil && e.Filter.Kinds == nil
				case peer.Request:
					is = at == "live" && e.Class == peer.Live && e.Filters[0].Tags == nil && e.Filters[0].Kinds == nil
				}
				held = held || is
				return is
			}
			if at == "probe" {
				w.hold = hold
				w.connect(w.want(), capacity.Limits{})
				w.pass(16 * time.Second)
			} else {
				w.begin()
				w.hold = hold
				w.again(gap)
			}
			if !held {
				t.Fatalf("%s: it is not asked as a whole", at)
			}
			held = false
			for range 4 {
				w.again(gap)
				w.pass(30 * time.Minute)
				w.byItems(at)
				if held {
					t.Fatalf("%s, %v: it is asked as a whole again", at, gap)
				}
			}
			if w.peer.Record().Alike || at != "probe" && w.told("no longer compares everything") != 1 {
				t.Errorf("%s: alike %v; the log tells it %d times", at, w.peer.Record().Alike, w.told("no longer compares everything"))
			}
		}
	}
}

// A relay may turn out to have no negentropy after all while it is asked as a whole.
func TestNegentropyIsRefusedDuringTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.hold = func(e peer.Effect) bool {
		open, is := e.(peer.OpenNeg)
		return is && open.Filter.Tags == nil && open.Filter.Kinds == nil
	}
	w.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		return nostr.NegErr{Sub: e.Sub, Reason: "unsupported: negentropy"}
	}
	w.again(time.Hour)
	w.f.AddAll(w.f.Issue(77, address(key(0), "x"))).Step()
	w.do(peer.Wanted{Want: w.want()})
	if got := w.peer.Status().Negentropy; got != "refused" {
		t.Fatalf("negentropy %s", got)
	}
	w.do(peer.Reconsider{})
	w.pass(time.Minute)
	w.byItems("without negentropy")
}

// One whose connection is lost in the middle of the comparison is asked as a whole twice more.
func TestConnectionsLostWhileTheWholeIsCompared(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.hold = func(e peer.Effect) bool { _, is := e.(peer.OpenNeg); return is }
	for n := range 4 {
		w.again(time.Hour)
		w.pass(10 * time.Second)
		if live, _, _ := w.without(); live != 1 != (n == 3) {
			t.Errorf("connection %d: %d live REQs without a filter", n, live)
		}
	}
}

// One whose connection is lost while graspd finds out whether it is alike is asked again at the next connection, and after three for a day no more.
func TestConnectionsLostWhileFindingOut(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	w.hold = func(e peer.Effect) bool {
		open, is := e.(peer.OpenNeg)
		return is && open.Filter.Tags == nil && open.Filter.Kinds == nil
	}
	w.begin()
	for n := range 4 {
		w.pass(5 * time.Second)
		if _, negs, _ := w.without(); negs != 1 != (n == 3) {
			t.Errorf("connection %d: %d reconciliations without a filter", n, negs)
		}
		w.again(time.Minute)
		w.pass(20 * time.Second)
	}
	w.hold = nil
	w.pass(26 * time.Hour)
	w.again(time.Minute)
	w.wholly("a day later")
}

// Kinds that a relay turns out to demand end the whole: it would compare those kinds only.
func TestKindsEndTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.again(time.Hour)
	w.wholly("at first")
	w.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if e.Filter.Kinds == nil {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: name the kinds"}
		}
		if e.Filter.Tags == nil && e.Filter.Authors == nil && e.Filter.Kinds[0] != 30617 && e.Filter.Kinds[0] != nostr.KindVanish {
			t.Errorf("as a whole with kinds: %s", e.Filter.AppendJSON(nil))
		}
		return nil
	}
	w.f.AddAll(w.f.Issue(77, address(key(0), "x"))).Step()
	w.do(peer.Wanted{Want: w.want()})
	w.do(peer.Reconsider{})
	w.pass(time.Minute)
	w.byItems("with kinds")
	if !w.peer.AddsKinds() {
		t.Error("kinds are not added")
	}
}

// Where only some requests need kinds, everything is compared and fetched without: they would leave out announcements.
func TestTheWholeIsComparedWithoutKinds(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.again(time.Hour)
	w.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if e.Filter.Kinds == nil && e.Filter.Tags != nil {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: name the kinds"}
		}
		return nil
	}
	w.f.AddAll(w.f.Issue(77, address(key(0), "x"))).Step()
	w.do(peer.Wanted{Want: w.want()})
	if !w.peer.AddsKinds() {
		t.Fatal("kinds are not added")
	}
	other := w.mint.Announce(key(7), "other", epoch.Unix()-77, []string{relay(3)})
	w.theirs = append(w.theirs, other)
	w.sent = nil
	w.do(peer.Reconsider{})
	if _, negs, _ := w.without(); negs != 1 || !slices.Contains(w.ours, other) || !w.peer.AllConfirmed() || len(w.following()) != 1 {
		t.Errorf("%d reconciliations without a filter; here %v; %+v", negs, slices.Contains(w.ours, other), w.peer.Status())
	}
}

// Values that are not those of the set, as where it left something out, tell nothing.
// A fetch that is refused for want of kinds ends the comparison, of which it carries none.
func TestAFetchRefusedForItsKindsEndsTheWhole(t *testing.T) {
	for _, alike := range []bool{false, true} {
		t.Run(fmt.Sprint("alike ", alike), func(t *testing.T) {
			w := newTwins(t, 300, peer.Config{})
			if alike {
				w.begin().again(time.Hour)
				w.wholly("at first")
			}
			w.theirs = append(w.theirs, w.mint.Event(nostr.KindNote, key(9), epoch.Unix()-7)) // nothing else leads to it
			refused := 0
			w.refuse = func(r peer.Request) nostr.RelayMessage {
				if r.Filters[0].IDs == nil || r.Filters[0].Kinds != nil {
					return nil
				}
				if refused++; refused > 10 {
					t.Fatal("it is asked again and again")
				}
				return nostr.Closed{Sub: r.Sub, Reason: "blocked: name the kinds"}
			}
			if alike {
				w.again(time.Hour)
			} else {
				w.begin()
			}
			w.byItems("after")
			if refused == 0 || w.peer.AddsKinds() {
				t.Errorf("refused %d times, kinds are added: %v", refused, w.peer.AddsKinds())
			}
		})
	}
}

// What a relay has is counted once though its items are asked for again, because an event could not be stored.
func TestCoverageAfterEventsThatCouldNotBeStored(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint("whole ", whole), func(t *testing.T) {
			c := peer.Config{WholeFrom: 1000}
			if whole {
				c.WholeFrom = 1
			}
			w := newTwins(t, 40, c).begin()
			for i := range 10 {
				w.ours = append(w.ours, w.comment(int64(i)))
			}
			w.again(time.Hour)
			w.pass(27 * time.Hour)
			coverage := func() string { return fmt.Sprintf("%.3f", *w.peer.Status().Coverage) }
			before := coverage()
			w.theirs, w.sent = w.ours, nil
			for _, sub := range slices.Collect(maps.Keys(w.open)) {
				w.do(peer.Received{Sub: sub, ID: nostr.ID{2}, At: epoch.Unix()})
				w.do(peer.Decided{Sub: sub, ID: nostr.ID{2}, Outcome: policy.Discard, Failed: true})
			}
			w.pass(10 * time.Minute)
			if !slices.ContainsFunc(w.sent, func(e peer.Effect) bool { _, is := e.(peer.OpenNeg); return is }) {
				t.Error("nothing is compared again")
			}
			if after := coverage(); after != before || !w.peer.AllConfirmed() {
				t.Errorf("covered %s before, %s after", before, after)
			}
		})
	}
}

// Nor is it forgotten where the connection ends before the store told what a comparison's events name.
func TestCoverageOfAComparisonThatWasNotToldOf(t *testing.T) {
	w := newTwins(t, 40, peer.Config{}).begin()
	w.ours = append(w.ours, w.comment(3))
	asked := false
	w.hold = func(e peer.Effect) bool {
		_, is := e.(peer.Attribute)
		asked = asked || is
		return is
	}
	w.again(time.Hour)
	w.do(peer.Disconnected{Reason: "reset"})
	w.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if e.Filter.Tags == nil && e.Filter.Authors == nil && e.Filter.Kinds == nil {
			return nostr.NegErr{Sub: e.Sub, Reason: "error: no"}
		}
		return nil
	}
	w.pass(10 * time.Second)
	w.open, w.sent = map[string]peer.Request{}, nil
	w.do(peer.Connected{})
	w.pass(time.Minute)
	if c := w.peer.Status().Coverage; !asked || !w.peer.AllConfirmed() || c == nil || *c != 1 {
		t.Errorf("asked %v; %+v", asked, w.peer.Status())
	}
}

func TestValuesOfAnotherSetTellNothing(t *testing.T) {
	w := newTwins(t, 40, peer.Config{}).begin()
	w.ours = append(w.ours, w.comment(3))
	w.again(time.Hour)
	before := *w.peer.Status().Coverage
	w.hold = func(e peer.Effect) bool {
		l, is := e.(peer.LoadSet)
		if is = is && l.Most > 0; is {
			w.queue = append(w.queue, peer.Loaded{Sub: l.Sub, Set: set(w.own, l.Filter), Values: make([]int16, 100)})
		}
		return is
	}
	w.again(time.Hour)
	w.wholly("with too many values")
	if c := w.peer.Status().Coverage; before == 1 || c == nil || *c != before {
		t.Errorf("covered %v before; %+v", before, w.peer.Status())
	}
}

// What a relay gives in pages only is still read from its pages.
func TestWhatComesInPagesOnlyIsRead(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	paged := w.comment(5)
	w.theirs = append(w.theirs, paged)
	serve := w.serve
	w.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		found := serve(sub, filters)
		if filters[0].IDs != nil && slices.Contains(found, paged) {
			w.ours = slices.DeleteFunc(w.ours, func(x *nostr.Event) bool { return x == paged })
			found = slices.DeleteFunc(slices.Clone(found), func(e *nostr.Event) bool { return e == paged })
		}
		return found
	}
	w.again(time.Hour)
	w.pass(time.Minute)
	if !w.peer.AllConfirmed() || !slices.Contains(w.ours, paged) {
		t.Errorf("it is here: %v", slices.Contains(w.ours, paged))
	}
}

// "Slow down" to a comparison as a whole is believed once.
func TestSlowDownEndsTheWhole(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := newTwins(t, 300, peer.Config{})
		asked := 0
		fault := func(e peer.OpenNeg) nostr.RelayMessage {
			if e.Filter.Tags == nil && e.Filter.Kinds == nil {
				asked++
				return nostr.NegErr{Sub: e.Sub, Reason: "rate-limited: query too expensive"}
			}
			return nil
		}
		if known {
			w.begin()
			w.negFault = fault
			w.again(time.Hour)
		} else {
			w.negFault = fault
			w.begin()
		}
		w.pass(5 * time.Minute)
		w.byItems(fmt.Sprint("known: ", known))
		w.pass(20 * time.Hour)
		if asked != 2 {
			t.Errorf("known: %v: asked %d times", known, asked)
		}
	}
}

// Where the comparison ends in the middle of a step, what it was for is followed in that step.
func TestNothingIsUnfollowedWhereTheWholeEnds(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	hidden := w.comment(5)
	w.theirs = append(w.theirs, hidden)
	serve, sub := w.serve, ""
	w.serve = func(s string, filters []nostr.Filter) []*nostr.Event {
		return slices.DeleteFunc(serve(s, filters), func(e *nostr.Event) bool {
			w.ours = slices.DeleteFunc(w.ours, func(x *nostr.Event) bool { return x == hidden })
			return e == hidden
		})
	}
	asked := 0
	w.hold = func(e peer.Effect) bool {
		r, is := e.(peer.Request)
		if is && r.Filters[0].IDs != nil {
			if asked++; asked == 2 {
				sub = r.Sub
				return true
			}
		}
		return false
	}
	w.again(time.Hour)
	if sub == "" {
		t.Fatal("it is not asked by id a second time")
	}
	w.do(peer.Frame{Message: nostr.Notice{Text: "rate-limited: slow down"}})
	w.do(peer.Frame{Message: nostr.EOSE{Sub: sub}})
	w.pass(66 * time.Second)
	w.byItems("after the pause")
}

// What came before a connection turned to the whole is no gap.
func TestWhatCameBeforeTheWholeIsNoGap(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.pass(20 * time.Hour)
	e := w.mint.Event(nostr.KindNote, key(9), w.clock.Wall.Unix()-3600, nostr.Tag{"t", "nothing leads to it"})
	w.theirs = append(w.theirs, e)
	w.sent = nil
	w.pass(6 * time.Hour)
	if live, _, _ := w.without(); live != 1 || !slices.Contains(w.ours, e) || w.peer.Gaps() != 0 || len(w.following()) != 1 {
		t.Errorf("%d live REQs without a filter, here %v, %d gaps, %d live filters", live, slices.Contains(w.ours, e), w.peer.Gaps(), len(w.following()))
	}
}

// A fetch that is one REQ too many ends the whole and teaches nothing.
func TestAFetchTooManyEndsTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	w.theirs = append(w.theirs, w.comment(5))
	once := false
	w.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Filters[0].IDs != nil && !once {
			once = true
			return nostr.Closed{Sub: r.Sub, Reason: "ERROR: too many concurrent REQs"}
		}
		return nil
	}
	w.again(time.Hour)
	w.pass(2 * time.Minute)
	w.byItems("one too many")
	if s := w.peer.Status(); s.SweptRoots > 0 || len(w.ours) != 301 {
		t.Errorf("%d root events are polled, %d events here", s.SweptRoots, len(w.ours))
	}
}

// A relay that finds everything too big until it is compared in small parts is not alike for that.
func TestDifferencesOfAllPartsCount(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	for i := range 1500 {
		e := w.comment(int64(1000 * i))
		e.Tags = nil
		w.theirs = append(w.theirs, e)
	}
	w.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if e.Filter.Tags == nil && e.Filter.Kinds == nil && len(w.neg(e.Filter)) > 200 {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results"}
		}
		return nil
	}
	w.begin()
	if !w.peer.AllConfirmed() || w.peer.Record().Alike || len(w.ours) > 300+1000+200 {
		t.Errorf("alike: %v, %d events here", w.peer.Record().Alike, len(w.ours))
	}
}

// A relay that reconciles its newest events only is not asked as a whole, and its other reconciliations are as before.
func TestARelayThatCutsTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	neg := w.neg
	w.neg = func(f nostr.Filter) []*nostr.Event {
		found := neg(f)
		if f.Tags == nil && f.Kinds == nil {
			found = found[200:]
		}
		return found
	}
	w.ours = w.ours[200:]
	w.hold = func(e peer.Effect) bool { return false }
	w.begin()
	if s := w.peer.Status(); s.Negentropy != "works" || w.peer.Record().Alike || !w.peer.AllConfirmed() {
		t.Errorf("negentropy %s, alike %v", s.Negentropy, w.peer.Record().Alike)
	}
}

// With too much here it is not tried again at each connection.
func TestTooMuchForTheWhole(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	sets := 0
	w.hold = func(e peer.Effect) bool {
		l, is := e.(peer.LoadSet)
		if is = is && l.Most > 0; is {
			if l.Most != 1_000_000 {
				t.Errorf("up to %d events are read", l.Most)
			}
			sets++
			w.queue = append(w.queue, peer.Loaded{Sub: l.Sub, Large: true})
		}
		return is
	}
	for range 5 {
		w.again(time.Hour)
		w.byItems("too much is here")
	}
	if sets != 1 {
		t.Errorf("it is read %d times", sets)
	}
}

// Nobody waits for the comparison that finds out about a relay.
func TestFindingOutHoldsNothingUp(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	w.hold = func(e peer.Effect) bool {
		open, is := e.(peer.OpenNeg)
		return is && open.Filter.Tags == nil && open.Filter.Kinds == nil
	}
	if w.begin(); !w.peer.CaughtUp() || !w.peer.AllConfirmed() {
		t.Error("it is not caught up")
	}
}

// calms has all of that wanted now, and fails the test unless finding out waits until it stays so.
func (w *twins) calms(all *peer.Want) {
	w.t.Helper()
	w.do(peer.Wanted{Want: all})
	w.pass(10 * time.Second)
	if _, negs, _ := w.without(); negs > 0 {
		w.t.Error("it is tried before what is wanted stays as it is")
	}
	w.pass(10 * time.Second)
	if _, negs, _ := w.without(); negs != 1 {
		w.t.Errorf("it is tried %d times", negs)
	}
}

// What is confirmed first leads to more, and until that is here as well both sides differ.
func TestFindingOutWaitsForWhatIsStillToCome(t *testing.T) {
	w := newTwins(t, 1600, peer.Config{})
	_, first := small(t, 0)
	w.connect(first, capacity.Limits{})
	w.pass(10 * time.Second)
	w.calms(w.want())
}

// What is wanted again grows as well.
func TestFindingOutWaitsForWhatComesBack(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	w.connect(w.want(), capacity.Limits{})
	w.pass(5 * time.Second)
	_, less := small(t, 0)
	w.do(peer.Wanted{Want: less})
	w.pass(5 * time.Second)
	w.calms(w.want())
}

// A root event now and then does not put it off.
func TestFindingOutDoesNotWaitForAnEnd(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	more := func(n int64) *peer.Want { w.f.AddAll(w.f.Issue(n, address(key(0), "x"))).Step(); return w.want() }
	for i := range int64(60) {
		more(100 + i)
	}
	w.connect(w.want(), capacity.Limits{})
	for i := range int64(3) {
		w.pass(6 * time.Second)
		w.do(peer.Wanted{Want: more(200 + i)})
	}
	if !w.peer.Record().Alike {
		t.Error("nothing is found out")
	}
}

// Less being wanted meanwhile does not end it.
func TestFindingOutGoesOnWhereLessIsWanted(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	var open *peer.OpenNeg
	w.hold = func(e peer.Effect) bool {
		n, is := e.(peer.OpenNeg)
		if is = is && open == nil && n.Filter.Tags == nil && n.Filter.Kinds == nil; is {
			open = &n
		}
		return is
	}
	w.begin()
	less, _ := small(t, 4)
	w.do(peer.Wanted{Want: less.Wants[here]})
	w.pass(time.Second)
	w.answer(*open)
	w.do(peer.Tick{})
	if !w.peer.Record().Alike {
		t.Error("nothing is found out")
	}
}

func TestTheWholeOutlivesThePeer(t *testing.T) {
	w := newTwins(t, 300, peer.Config{}).begin()
	if !w.peer.Record().Alike {
		t.Fatal("the record does not tell")
	}
	next := newTwins(t, 300, peer.Config{Past: w.peer.Record()})
	next.ours, next.theirs = w.ours, w.theirs
	next.begin()
	next.ours = append(next.ours, next.comment(1))
	next.wholly("after a restart")
	next.again(time.Hour)
	if c := next.peer.Status().Coverage; c != nil { // how much is here of a repository was never compared
		t.Errorf("covered %v", *c)
	}
}

// TestManyEventsOfTheOldestSecond are no reason to page a relay that is compared as a whole: a probe asks for as many as a page may have.
func TestManyEventsOfTheOldestSecond(t *testing.T) {
	w := newTwins(t, 300, peer.Config{})
	for range 2 * reconcile.MostProbed {
		e := w.comment(0)
		w.ours, w.theirs = append(w.ours, e), append(w.theirs, e)
	}
	w.begin()
	w.again(time.Hour)
	w.wholly("with many events of the oldest second")
}
