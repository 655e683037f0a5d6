package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/want"
)

// slowDoor is a driver whose door has decided nothing of what comes by id until it is told to.
type slowDoor struct {
	*driver
	library *library
	fold    *fold
	subs    []string // of the requests by id, in order
	waiting map[string][]peer.Decided
	mute    byte // reconciliations of this tag are not answered
	muted   []peer.OpenNeg
}

// newSlowDoor is one of which the relay has so many events, each with the address in these tags.
func newSlowDoor(t *testing.T, events, page int, tags ...string) *slowDoor {
	s, w := closedSlowDoor(t, events, page, tags...)
	s.connect(w, capacity.Limits{})
	return s
}

// closedSlowDoor is one that is not connected yet, and what its peer wants.
func closedSlowDoor(t *testing.T, events, page int, tags ...string) (*slowDoor, *peer.Want) {
	l := newLibrary(events)
	for _, e := range l.events {
		for _, name := range tags {
			e.Tags = append(e.Tags, nostr.Tag{name, address(key(0), "x")})
		}
	}
	f, w := small(t, 0)
	s := &slowDoor{driver: l.reader(t, page), library: l, fold: f, waiting: map[string][]peer.Decided{}}
	s.hold = func(e peer.Effect) bool {
		if o, ok := e.(peer.OpenNeg); ok && len(o.Filter.Tags) > 0 && o.Filter.Tags[0].Name == s.mute {
			s.muted = append(s.muted, o)
			return true
		}
		r, ok := e.(peer.Request)
		if !ok || r.Filters[0].IDs == nil {
			return false
		}
		s.subs = append(s.subs, r.Sub)
		s.open[r.Sub] = r
		for _, ev := range s.serve(r.Sub, r.Filters) {
			s.queue = append(s.queue, peer.Received{Sub: r.Sub, ID: ev.ID, At: ev.CreatedAt})
			s.waiting[r.Sub] = append(s.waiting[r.Sub], peer.Decided{Sub: r.Sub, ID: ev.ID, New: true, Event: ev})
			delete(l.ours, ev.ID)
		}
		s.frame(nostr.EOSE{Sub: r.Sub})
		return true
	}
	return s, w
}

// stored counts the stored requests that the relay has.
func (s *slowDoor) stored() (n int) {
	for _, r := range s.driver.open {
		if r.Class != peer.Live {
			n++
		}
	}
	return n
}

// decides tells the verdicts on all that request n brought.
func (s *slowDoor) decides(n int) {
	for _, v := range s.waiting[s.subs[n]] {
		if !v.Failed {
			s.library.ours[v.ID] = true
		}
		s.do(v)
	}
}

// TestTheNextIDsAreAskedBeforeTheLastAreDecided, up to a bound, and nothing is confirmed before all are.
func TestTheNextIDsAreAskedBeforeTheLastAreDecided(t *testing.T) {
	s := newSlowDoor(t, 1000, 500)
	const ahead = peer.MostUndecided + 1
	if len(s.subs) != ahead || len(s.driver.open) != len(s.following()) && s.most > 3 {
		t.Fatalf("%d requests by id before anything is decided, want %d", len(s.subs), ahead)
	}
	s.decides(1) // not in order
	if len(s.subs) != ahead+1 {
		t.Errorf("%d requests by id when one is decided, want %d", len(s.subs), ahead+1)
	}
	s.decides(ahead) // the one that is answered last
	if len(s.subs) != ahead+2 {
		t.Errorf("%d requests by id when two are decided, want %d", len(s.subs), ahead+2)
	}
	for n := range 10 {
		if n == 1 || n == ahead {
			continue
		}
		if s.peer.AllConfirmed() {
			t.Errorf("settled before request %d was decided", n)
		}
		s.decides(n)
	}
	requests, times := s.byIDs()
	if requests != 10 || len(times) != 1000 || !s.peer.AllConfirmed() || s.peer.Counted().Undelivered != 0 {
		t.Errorf("%d requests for %d ids, %+v", requests, len(times), s.peer.Status())
	}
}

// TestTheLastIDsMayBeDecidedFirst: what was asked before them is waited for.
func TestTheLastIDsMayBeDecidedFirst(t *testing.T) {
	s := newSlowDoor(t, 300, 500)
	for _, n := range []int{2, 0, 1} {
		if s.decides(n); s.peer.AllConfirmed() != (n == 1) {
			t.Errorf("settled %v after request %d was decided", s.peer.AllConfirmed(), n)
		}
	}
}

// TestWhatIsBeingDecidedIsAskedForOnce: other filters that match the same events wait for it, and no longer than that.
func TestWhatIsBeingDecidedIsAskedForOnce(t *testing.T) {
	s := newSlowDoor(t, 300, 500, "a", "q")
	for _, n := range []int{2, 0, 1} {
		s.decides(n)
	}
	requests, times := s.byIDs()
	if requests != 3 || len(times) != 300 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests for %d ids, %+v", requests, len(times), s.peer.Status())
	}
}

// TestOthersWaitNoLongerForWhatProvedToBeHere: a filter that left its ids to another one goes on at once when the ids have come another way.
func TestOthersWaitNoLongerForWhatProvedToBeHere(t *testing.T) {
	s, w := closedSlowDoor(t, 100, 500, "a")
	hold := s.hold
	var lookups []peer.Sift
	s.hold = func(e peer.Effect) bool {
		x, ok := e.(peer.Sift)
		if !ok {
			return hold(e)
		}
		lookups = append(lookups, x)
		return len(lookups) == 1
	}
	s.connect(w, capacity.Limits{})
	if len(lookups) != 2 || len(s.subs) > 0 {
		t.Fatalf("%d lookups and %d requests by id while the first lookup is under way", len(lookups), len(s.subs))
	}
	for _, e := range s.library.events {
		s.library.ours[e.ID] = true
	}
	s.do(s.sift(lookups[0]))
	if len(s.subs) > 0 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests by id, settled %v", len(s.subs), s.peer.AllConfirmed())
	}
}

// TestSilenceIsNotCountedWhileTheDoorDecides, however long it takes.
func TestSilenceIsNotCountedWhileTheDoorDecides(t *testing.T) {
	s := newSlowDoor(t, 300, 500)
	s.pass(10 * time.Minute)
	for n := range s.subs {
		s.decides(n)
	}
	requests, times := s.byIDs()
	if requests != 3 || len(times) != 300 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests for %d ids, %+v", requests, len(times), s.peer.Status())
	}
}

// TestASlowDoorIsNoSilenceOfTheRelay: a reader that waits for the door reads no other answer either.
func TestASlowDoorIsNoSilenceOfTheRelay(t *testing.T) {
	s, w := closedSlowDoor(t, 300, 500)
	s.mute = 'q'
	s.connect(w, capacity.Limits{})
	for n := range 2 {
		for _, v := range s.waiting[s.subs[n]] {
			s.library.ours[v.ID] = true
			s.do(v)
			s.pass(20 * time.Second)
		}
	}
	givenUp := func() bool {
		return slices.ContainsFunc(s.sent, func(e peer.Effect) bool { return e == peer.CloseNeg{Sub: s.muted[0].Sub} })
	}
	s.decides(2)
	s.pass(29 * time.Second)
	if len(s.muted) != 1 || givenUp() {
		t.Fatalf("%d reconciliations, given up %v while the door decided", len(s.muted), givenUp())
	}
	s.pass(2 * time.Second)
	if !givenUp() {
		t.Error("a silent relay is waited for")
	}
}

// TestThoseBehindAFailedFetchGoOn at once.
func TestThoseBehindAFailedFetchGoOn(t *testing.T) {
	s := newSlowDoor(t, 100, 500, "a")
	asked := len(s.subs)
	for i := range s.waiting[s.subs[0]] {
		s.waiting[s.subs[0]][i].Failed = true
		s.waiting[s.subs[0]][i].Outcome = policy.Failed
	}
	s.decides(0)
	if len(s.subs) == asked {
		t.Errorf("the other filter waits for %d requests that failed", asked)
	}
}

// TestWhatCouldNotBeStoredAheadIsAskedAgain: a failure of our own in a request that is decided while the next one is
// open has the comparison begin again, once.
func TestWhatCouldNotBeStoredAheadIsAskedAgain(t *testing.T) {
	s := newSlowDoor(t, 300, 500)
	for i := range s.waiting[s.subs[0]] {
		s.waiting[s.subs[0]][i] = peer.Decided{Sub: s.subs[0], ID: s.waiting[s.subs[0]][i].ID, Outcome: policy.Failed, Failed: true}
	}
	s.decides(0)
	s.decides(1)
	s.decides(2)
	if s.peer.AllConfirmed() || len(s.subs) != 3 {
		t.Errorf("settled %v after %d requests though events could not be stored", s.peer.AllConfirmed(), len(s.subs))
	}
	s.pass(2 * time.Minute)
	for n := 3; n < len(s.subs); n++ {
		s.decides(n)
	}
	if len(s.subs) != 4 || len(s.library.ours) != 300 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests, %d events, %+v", len(s.subs), len(s.library.ours), s.peer.Status())
	}
}

// TestWhatIsUnwantedWhileItIsDecided leaves nothing behind, and verdicts on it nothing to do.
func TestWhatIsUnwantedWhileItIsDecided(t *testing.T) {
	s := newSlowDoor(t, 300, 500)
	s.fold.AddAll(s.fold.Announce(key(0), "x", 2, []string{relay(3)}), s.fold.Announce(key(1), "other", 1, []string{us, string(here)}))
	s.fold.Step()
	s.do(peer.Wanted{Want: s.fold.Wants[here]})
	for range 2 {
		if err := s.peer.Check(); err != nil {
			t.Error(err)
		}
		for n := range s.subs {
			s.decides(n)
		}
	}
	if len(s.subs) != 3 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests, %+v", len(s.subs), s.peer.Status())
	}
}

// TestWhatDidNotComeAheadIsAskedAgain: a relay that gives fewer than it is asked for is asked for the rest, though the next
// request went out before the last one was decided.
func TestWhatDidNotComeAheadIsAskedAgain(t *testing.T) {
	s := newSlowDoor(t, 300, 40)
	for n := 0; n < len(s.subs); n++ {
		s.decides(n)
	}
	if len(s.library.ours) != 300 || s.paged() > 1 || !s.peer.AllConfirmed() { // one page is a probe
		t.Errorf("%d events, %d pages, %+v", len(s.library.ours), s.paged(), s.peer.Status())
	}
}

// TestARefusalWhileTheDoorDecides: what was answered before it counts, and only the rest is asked again.
func TestARefusalWhileTheDoorDecides(t *testing.T) {
	s := newSlowDoor(t, 300, 500)
	last := s.subs[2]
	hold := s.hold
	s.do(peer.Disconnected{Reason: "test"})
	for n := range 3 { // verdicts on what a connection brought that is gone
		s.decides(n)
	}
	s.library.ours = map[nostr.ID]bool{}
	refused := false
	s.hold = func(e peer.Effect) bool {
		if r, ok := e.(peer.Request); ok && r.Filters[0].IDs != nil && len(s.subs) == 5 && !refused {
			refused = true
			s.frame(nostr.Closed{Sub: r.Sub, Reason: "error: not now"})
			return true
		}
		return hold(e)
	}
	s.pass(10 * time.Second)
	s.do(peer.Connected{})
	if !refused || s.subs[len(s.subs)-1] == last {
		t.Fatalf("refused %v after %d requests", refused, len(s.subs))
	}
	s.decides(3)
	s.decides(4)
	s.pass(2 * time.Minute)
	if len(s.subs) != 6 || len(s.waiting[s.subs[5]]) != 100 {
		t.Fatalf("%d requests, the last one for %d", len(s.subs), len(s.waiting[s.subs[len(s.subs)-1]]))
	}
	s.decides(5)
	if len(s.library.ours) != 300 || !s.peer.AllConfirmed() {
		t.Errorf("%d events, %+v", len(s.library.ours), s.peer.Status())
	}
}

// TestOthersAreAskedWhileTheDoorDecides: what waits for the door alone takes nobody's place at the relay, up to a bound, and nothing of a higher
// layer is asked before.
func TestOthersAreAskedWhileTheDoorDecides(t *testing.T) {
	s, _ := closedSlowDoor(t, 0, 500)
	_, w := small(t, 2000)
	w.Repos[0].EachRoot(func(it want.Item) {
		s.library.events = append(s.library.events, s.library.Event(nostr.KindComment, key(9), 1_700_000_000+int64(it), nostr.Tag{"e", w.Root(it).String()}))
	})
	s.connect(w, capacity.Limits{})
	const most = capacity.RequestsAtOnce + peer.MostAtDoor
	if len(s.subs) != most {
		t.Fatalf("%d requests by id before anything is decided, want %d", len(s.subs), most)
	}
	if s.stored() > capacity.RequestsAtOnce {
		t.Errorf("%d stored requests are open", s.stored())
	}
	s.decides(3) // not in order
	if len(s.subs) != most+1 {
		t.Errorf("%d requests by id when one is decided, want %d", len(s.subs), most+1)
	}
	for n := 0; n < len(s.subs); n++ {
		if err := s.peer.Check(); err != nil {
			t.Fatal(err)
		}
		if n == 3 {
			continue
		}
		if s.peer.AllConfirmed() {
			t.Errorf("settled before request %d was decided", n)
		}
		s.decides(n)
	}
	requests, times := s.byIDs()
	if requests != 20 || len(times) != 2000 || !s.peer.AllConfirmed() {
		t.Errorf("%d requests for %d ids, %+v", requests, len(times), s.peer.Status())
	}
}

// TestNothingOfAHigherLayerIsAskedWhileTheDoorDecides, as the events of the lower one decide what is accepted.
func TestNothingOfAHigherLayerIsAskedWhileTheDoorDecides(t *testing.T) {
	s, _ := closedSlowDoor(t, 10, 500)
	_, w := small(t, 1)
	root := ""
	w.Repos[0].EachRoot(func(it want.Item) { root = w.Root(it).String() })
	s.connect(w, capacity.Limits{})
	asksRoots := func() bool {
		return slices.ContainsFunc(s.sent, func(e peer.Effect) bool {
			o, ok := e.(peer.LoadSet)
			return ok && len(o.Filter.Tags) > 0 && slices.Contains(o.Filter.Tags[0].Values, root)
		})
	}
	if len(s.subs) != 1 || asksRoots() {
		t.Fatalf("%d requests by id, asks for what names the root event: %v", len(s.subs), asksRoots())
	}
	if s.decides(0); !asksRoots() || !s.peer.AllConfirmed() {
		t.Errorf("settled %v, asks for what names the root event: %v", s.peer.AllConfirmed(), asksRoots())
	}
}
