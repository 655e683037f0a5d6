package peer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// shelves are two sides that reconcile: the events here, and which of them the relay lacks.
type shelves struct {
	*driver
	mint
	f     *fold
	ours  []*nostr.Event
	lacks map[nostr.ID]bool
}

func newShelves(t *testing.T, roots int) *shelves {
	f, _ := small(t, roots)
	s := &shelves{driver: newDriver(t, peer.Config{}), mint: mint{N: 1 << 32}, f: f, lacks: map[nostr.ID]bool{}}
	matching := func(f nostr.Filter, all bool) (out []*nostr.Event) {
		for _, e := range s.ours {
			if f.Matches(e) && (all || !s.lacks[e.ID]) {
				out = append(out, e)
			}
		}
		return out
	}
	s.own = func(f nostr.Filter) []*nostr.Event { return matching(f, true) }
	s.neg = func(f nostr.Filter) []*nostr.Event { return matching(f, false) }
	s.driver.remembered = map[nostr.ID]bool{}
	return s
}

func (s *shelves) want() *peer.Want { return s.f.Wants[here] }

// put adds n events of which the relay lacks some.
func (s *shelves) put(n, lacking int, tags ...nostr.Tag) (out []*nostr.Event) {
	for i := range n {
		e := s.mint.Event(nostr.KindComment, key(9), 1_700_000_000+int64(len(s.ours)), tags...)
		s.ours = append(s.ours, e)
		s.lacks[e.ID] = i < lacking
		out = append(out, e)
	}
	return out
}

func (s *shelves) root(n int) string {
	return wanttest.RootIDs(s.want(), s.want().Repos[0])[n].String()
}

func (s *shelves) coverage() float64 {
	if c := s.peer.Status().Coverage; c != nil {
		return math.Round(*c*10000) / 10000
	}
	return -1
}

// warned returns what the log says that the relay lacks.
func (s *shelves) warned() (out []string) {
	for _, r := range s.reports {
		if r.Text == "the relay lacks events that are here" {
			out = append(out, fmt.Sprint(r.Level, r.Args))
		}
	}
	return out
}

func TestCoverage(t *testing.T) {
	x := address(key(0), "x")
	for _, c := range []struct {
		name    string
		put     func(s *shelves)
		covered float64
		lacking int
	}{
		{"nothing here", func(*shelves) {}, -1, 0},
		{"all of it", func(s *shelves) { s.put(10, 0, nostr.Tag{"a", x}) }, 1, 0},
		{"some of it", func(s *shelves) { s.put(10, 3, nostr.Tag{"a", x}) }, 0.7, 3},
		{"nothing of it", func(s *shelves) { s.put(10, 10, nostr.Tag{"q", x}) }, 0, 10},
		{"many", func(s *shelves) { s.put(1000, 1, nostr.Tag{"A", x}) }, 0.999, 1},
		{"on root events", func(s *shelves) {
			s.put(4, 1, nostr.Tag{"E", s.root(0)}, nostr.Tag{"e", s.root(0)})
			s.put(6, 1, nostr.Tag{"q", s.root(1)})
		}, 0.8, 2},
		{"in several ways", func(s *shelves) {
			s.put(8, 2, nostr.Tag{"a", x}, nostr.Tag{"q", x}, nostr.Tag{"A", x})
		}, 0.75, 2},
		{"what is only remembered", func(s *shelves) {
			s.put(8, 2, nostr.Tag{"a", x})
			for _, e := range s.put(30, 30, nostr.Tag{"a", x}) {
				s.driver.remembered[e.ID] = true
			}
		}, 0.75, 2},
		{"what belongs to no repository", func(s *shelves) {
			s.put(4, 1, nostr.Tag{"a", x})
			for _, e := range s.put(50, 50, nostr.Tag{"d", "z"}) {
				e.Kind = 30617 // of layer 1
			}
		}, 0.75, 1},
		{"states and their deletions", func(s *shelves) {
			for _, e := range s.put(2, 1, nostr.Tag{"d", "x"}) {
				e.Kind = 30618
			}
			for _, e := range s.put(2, 0, nostr.Tag{"a", "30618" + x[5:]}) {
				e.Kind = nostr.KindDeletion
			}
		}, 0.75, 1},
	} {
		s := newShelves(t, 3)
		c.put(s)
		s.do(peer.Wanted{Want: s.want()})
		if s.coverage() != -1 {
			t.Errorf("%s: known before anything was compared", c.name)
		}
		s.do(peer.Connected{})
		if got := s.coverage(); got != c.covered || s.peer.Status().Phase != "live" {
			t.Errorf("%s: covered %v, want %v", c.name, got, c.covered)
		}
		var want []string
		if c.lacking > 0 {
			want = []string{fmt.Sprint(peer.LevelWarn, []any{"repository", x, "count", uint64(c.lacking), "repositories", 1})}
		}
		if got := s.warned(); !slices.Equal(got, want) {
			t.Errorf("%s: warned of %v, want %v", c.name, got, want)
		}
	}
}

// A root event of two repositories counts for both, and the one that lacks most is named.
func TestCoverageOfSeveralRepositories(t *testing.T) {
	s := newShelves(t, 1)
	y := s.f.Announce(key(1), "y", 1, []string{us, string(here)})
	s.f.AddAll(y).Step()
	both := s.f.Issue(7, address(key(0), "x"), address(key(1), "y"))
	s.f.AddAll(both).Step()
	s.put(10, 4, nostr.Tag{"a", address(key(0), "x")})
	s.put(10, 2, nostr.Tag{"a", address(key(1), "y")})
	s.put(10, 3, nostr.Tag{"E", both.ID.String()})
	s.connect(s.want(), capacity.Limits{})
	if got, want := s.coverage(), 0.7; got != want { // 12 of 40
		t.Errorf("covered %v, want %v", got, want)
	}
	// Answers to a root event of two repositories count for both.
	parts := []status.Part{
		{Address: address(key(0), "x"), Roots: 2, Confirmed: 3, Here: 20, Lacks: 7},
		{Address: address(key(1), "y"), Roots: 1, Confirmed: 2, Here: 20, Lacks: 5},
	}
	if got := s.peer.Details().Parts; !slices.Equal(got, parts) || !got[0].Complete() {
		t.Errorf("parts %+v, want %+v", got, parts)
	}
	want := fmt.Sprint(peer.LevelWarn, []any{"repository", address(key(0), "x"), "count", uint64(7), "repositories", 2})
	if got := s.warned(); len(got) != 1 || got[0] != want {
		t.Errorf("warned of %v, want %v", got, want)
	}
	s.f.Remove(y.ID)
	s.f.Step()
	s.do(peer.Wanted{Want: s.want()})
	if got, want := s.coverage(), 0.65; got != want { // 7 of 20
		t.Errorf("with one repository only covered %v, want %v", got, want)
	}
}

// What a catch-up tells counts when it has ended; until then the one before it.
func TestCoverageIsThatOfTheLastFullCatchUp(t *testing.T) {
	x := address(key(0), "x")
	s := newShelves(t, 2)
	lost := s.put(10, 5, nostr.Tag{"a", x})
	s.connect(s.want(), capacity.Limits{})
	if s.coverage() != 0.5 {
		t.Fatalf("covered %v", s.coverage())
	}
	for _, e := range lost {
		s.lacks[e.ID] = false
	}
	silent := true
	s.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if silent && len(e.Filter.Tags) > 0 && e.Filter.Tags[0].Name == 'q' {
			return nostr.Notice{Text: "wait"}
		}
		return nil
	}
	s.clock.Wall = s.clock.Wall.Add(time.Hour) // has everything compared again
	s.do(peer.Tick{})
	s.pass(time.Second)
	if s.coverage() != 0.5 || s.peer.Status().Phase != "syncing" {
		t.Errorf("half-way covered %v", s.coverage())
	}
	silent = false
	s.do(peer.Disconnected{Reason: "reset"})
	s.pass(time.Minute)
	s.do(peer.Connected{})
	if s.coverage() != 1 || s.peer.Status().Phase != "live" {
		t.Errorf("covered %v, %+v", s.coverage(), s.peer.Status())
	}
	// A quick reconnect and new items add to it.
	s.do(peer.Disconnected{Reason: "reset"})
	s.pass(time.Minute)
	s.do(peer.Connected{})
	if s.coverage() != 1 {
		t.Errorf("after a quick reconnect covered %v", s.coverage())
	}
	s.f.AddAll(s.f.Issue(9, x)).Step()
	s.put(10, 10, nostr.Tag{"e", s.root(2)})
	s.do(peer.Wanted{Want: s.want()})
	if s.coverage() != 0.5 {
		t.Errorf("with a new root event covered %v", s.coverage())
	}
}

// At another revision a repository is asked again: that takes the place of what was told before.
func TestCoverageOfANewRevision(t *testing.T) {
	s := newShelves(t, 0)
	s.put(10, 5, nostr.Tag{"a", address(key(0), "x")})
	s.connect(s.want(), capacity.Limits{})
	s.f.Now += 5
	s.f.AddAll(s.f.Announce(key(0), "x", 5, []string{us, string(here)}, key(1))).Step()
	s.f.AddAll(s.f.Announce(key(1), "x", 6, []string{string(here)}, key(0))).Step()
	s.f.Now += 5
	s.f.Step()
	s.put(10, 0, nostr.Tag{"a", address(key(1), "x")})
	s.do(peer.Wanted{Want: s.want()})
	if len(s.want().Repository(s.want().Repos[0].Item).Addresses) != 2 || s.coverage() != 0.75 {
		t.Errorf("covered %v", s.coverage())
	}
}

// Polling compares again what was compared; it counts once.
func TestCoverageOfPolledItems(t *testing.T) {
	s := newShelves(t, 3000)
	s.put(100, 10, nostr.Tag{"E", s.root(0)})
	s.put(100, 40, nostr.Tag{"a", address(key(0), "x")})
	s.connect(s.want(), capacity.Limits{MaxSubscriptions: 5})
	s.pass(5 * time.Hour)
	if n := s.peer.Status().SweptRoots; n == 0 || s.coverage() != 0.75 {
		t.Errorf("%d polled, covered %v", n, s.coverage())
	}
}

// Where the relay refuses reconciliations, cuts them or has them cut, nothing is known.
func TestCoverageUnknown(t *testing.T) {
	x := address(key(0), "x")
	s := newShelves(t, 1)
	s.put(10, 5, nostr.Tag{"a", x})
	s.negFault = func(e peer.OpenNeg) nostr.RelayMessage { return nostr.NegErr{Sub: e.Sub, Reason: "blocked: no"} }
	s.connect(s.want(), capacity.Limits{})
	if s.coverage() != -1 || len(s.warned()) > 0 {
		t.Errorf("refused: covered %v, %v", s.coverage(), s.warned())
	}
	s = newShelves(t, 1)
	s.put(300, 150, nostr.Tag{"a", x})
	below := s.ours[0]
	s.serve = func(_ string, f []nostr.Filter) []*nostr.Event {
		if *f[0].Limit > 0 && f[0].Matches(below) && f[0].Until != nil {
			return []*nostr.Event{below} // not shown, and there
		}
		return nil
	}
	s.connect(s.want(), capacity.Limits{})
	if st := s.peer.Status(); st.Negentropy != "truncates" || s.coverage() != -1 || len(s.warned()) > 0 {
		t.Errorf("%s: covered %v, %v", st.Negentropy, s.coverage(), s.warned())
	}
	// One filter that is paged in the end tells nothing, others do.
	s = newShelves(t, 1)
	s.put(100, 100, nostr.Tag{"a", x})
	s.put(100, 25, nostr.Tag{"E", s.root(0)})
	s.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		switch f := e.Filter; {
		case len(f.Tags) == 0 || f.Tags[0].Name != 'a' || f.Kinds != nil || f.Since != nil:
			return nil
		case f.Until == nil:
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results"}
		}
		return nostr.NegErr{Sub: e.Sub, Reason: "error: out of order"} // the older half
	}
	s.connect(s.want(), capacity.Limits{})
	if s.coverage() != 0.75 {
		t.Errorf("one filter paged: covered %v", s.coverage())
	}
}

// Windows of a filter that is too big for the relay add up.
func TestCoverageOfWindows(t *testing.T) {
	s := newShelves(t, 0)
	s.put(200, 50, nostr.Tag{"a", address(key(0), "x")})
	s.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if n := len(s.neg(e.Filter)); n > 40 {
			return nostr.NegErr{Sub: e.Sub, Reason: "blocked: too many query results"}
		}
		return nil
	}
	s.connect(s.want(), capacity.Limits{})
	if s.coverage() != 0.75 {
		t.Errorf("covered %v", s.coverage())
	}
}

// What could not be stored has its filter compared once more, and counted once.
func TestCoverageComparedTwice(t *testing.T) {
	s := newShelves(t, 0)
	s.put(8, 2, nostr.Tag{"a", address(key(0), "x")})
	theirs := s.mint.Event(nostr.KindComment, key(9), 1_700_000_000, nostr.Tag{"a", address(key(0), "x")})
	have := s.neg
	s.neg = func(f nostr.Filter) []*nostr.Event {
		out := have(f)
		if f.Matches(theirs) {
			out = append(out, theirs)
		}
		return out
	}
	tries := 0
	s.serve = func(sub string, f []nostr.Filter) []*nostr.Event {
		if len(f[0].IDs) == 0 {
			return nil
		}
		if tries++; tries == 1 {
			s.queue = append(s.queue, peer.Received{Sub: sub, ID: theirs.ID, At: theirs.CreatedAt}, peer.Decided{Sub: sub, ID: theirs.ID, Failed: true})
			return nil
		}
		return []*nostr.Event{theirs}
	}
	s.connect(s.want(), capacity.Limits{})
	s.pass(5 * time.Minute)
	if tries != 2 || s.coverage() != 0.75 {
		t.Errorf("%d tries, covered %v", tries, s.coverage())
	}
}

// What a relay lacks is told once an hour at most.
func TestLackingIsToldSparingly(t *testing.T) {
	s := newShelves(t, 0)
	s.put(10, 5, nostr.Tag{"a", address(key(0), "x")})
	s.connect(s.want(), capacity.Limits{})
	again := func() {
		s.clock.Wall = s.clock.Wall.Add(time.Hour)
		s.do(peer.Tick{})
	}
	s.pass(59 * time.Minute)
	again()
	if n := len(s.warned()); n != 1 {
		t.Errorf("told %d times within an hour", n)
	}
	s.pass(time.Minute)
	again()
	if n := len(s.warned()); n != 2 {
		t.Errorf("told %d times in an hour and more", n)
	}
}
