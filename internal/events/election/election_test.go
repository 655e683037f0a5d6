package election_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/election"
)

const second = time.Second

// script drives one node by hand. Its looks find what is true of a log that ends where the node is, unless told otherwise.
type script struct {
	*testing.T
	n     *election.Node
	now   time.Duration
	at    uint64
	deaf  bool // the log does not answer
	looks int
	did   []election.Effect
}

func follower(t *testing.T, self string, at uint64, term election.Term) *script {
	return &script{T: t, n: election.New(self, 0, at, term), at: at}
}

// step gives the node an input and answers its looks at once.
func (s *script) step(in election.Input) {
	for _, e := range s.n.Step(s.now, in) {
		if _, ok := e.(election.Look); !ok {
			s.did = append(s.did, e)
		} else if s.looks++; s.deaf {
			s.step(election.Unseen{})
		} else {
			s.step(election.Ended{Position: s.at})
		}
	}
}

// pass lets time go by, as a process does that runs; meanwhile comes every half of a second.
func (s *script) pass(d time.Duration, meanwhile ...election.Input) {
	for end := s.now + d; s.now < end; {
		half := s.now - s.now%(second/2) + second/2
		s.now = min(end, max(s.n.Wake(), s.now+1), half)
		s.step(election.Tick{})
		if s.now%(second/2) == 0 {
			for _, in := range meanwhile {
				s.step(in)
			}
		}
	}
}

// tries returns how often the node tried, and forgets what it did.
func (s *script) tries() (n int) {
	for _, e := range s.did {
		if _, ok := e.(election.Lead); ok {
			n++
		}
	}
	s.did = nil
	return n
}

func (s *script) wantTries(want int, when string) {
	s.Helper()
	if n := s.tries(); n != want {
		s.Errorf("%s: %d tries, want %d", when, n, want)
	}
}

// wantLast requires what the node did last.
func (s *script) wantLast(want election.Effect) {
	s.Helper()
	if len(s.did) == 0 || s.did[len(s.did)-1] != want {
		s.Errorf("it did %#v, want %#v", s.did, want)
	}
}

var ofA = election.Term{Number: 3, By: "a"}

// TestNobodyTriesWhileSomebodyLeads: each of the conditions alone keeps a follower from trying.
func TestNobodyTriesWhileSomebodyLeads(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(s *script) []election.Input
		deaf      bool
		tries     int
	}{
		{"nothing is heard", func(*script) []election.Input { return []election.Input{election.Lost{}} }, false, 1},
		{"the stream lives", func(*script) []election.Input { return []election.Input{election.Heard{Term: 3}} }, false, 0},
		{"the stream is of a later term", func(*script) []election.Input { return []election.Input{election.Heard{Term: 4}} }, false, 0},
		{"the stream is of an earlier term", func(*script) []election.Input { return []election.Input{election.Heard{Term: 2}} }, false, 1},
		{"entries come", func(s *script) []election.Input {
			s.at++
			return []election.Input{election.Applied{Position: s.at, Term: ofA}}
		}, false, 0},
		{"the log does not answer", func(*script) []election.Input { return nil }, true, 0},
	} {
		s := follower(t, "b", 10, ofA)
		s.deaf = c.deaf
		for range 60 {
			s.pass(second/2, c.meanwhile(s)...)
		}
		s.wantTries(c.tries, c.name)
	}
}

// TestWhenAFollowerTries: after five seconds of silence and a random wait, and not before the term is fifteen seconds old.
func TestWhenAFollowerTries(t *testing.T) {
	for _, c := range []struct {
		name    string
		streams time.Duration // how long the leader is there
		from    time.Duration // when it tries, at the earliest
	}{
		{"at the beginning", 0, election.Between},
		{"the leader is there for a moment", 4 * second, election.Between},
		{"the leader was there for long", 60 * second, 60*second + election.Silence},
	} {
		waits := map[time.Duration]bool{}
		for i := range 20 {
			s := follower(t, fmt.Sprint("node ", i), 10, ofA)
			s.pass(c.streams, election.Heard{Term: 3})
			for s.n.Role() == election.Follows && s.now < 100*second {
				s.pass(20 * time.Millisecond)
			}
			if s.now < c.from || s.now > c.from+election.MaxWait+2*second {
				t.Errorf("%s: it tries after %v, want %v", c.name, s.now, c.from)
			}
			waits[s.now] = true
		}
		if len(waits) < 10 {
			t.Errorf("%s: nodes try at %d times", c.name, len(waits))
		}
	}
	s := follower(t, "b", 0, election.Term{})
	s.pass(election.Silence + election.MaxWait + 2*second)
	s.wantTries(1, "on an empty log")
}

// TestAnEntryThatIsMissing: a follower that has not all that the log has does not try, whatever it knows otherwise.
func TestAnEntryThatIsMissing(t *testing.T) {
	s := follower(t, "b", 10, ofA)
	s.at = 9 // what a look says is not about where the node is
	s.pass(60 * second)
	s.wantTries(0, "looks are about another position")
	s.at = 10
	s.pass(2 * second)
	s.wantTries(0, "the first look at the end")
	s.pass(election.Silence + election.MaxWait + 2*second)
	s.wantTries(1, "and quiet since")
}

// TestALookOfLongAgo: when the log stops to answer, what it said before counts for a moment only.
func TestALookOfLongAgo(t *testing.T) {
	s := follower(t, "b", 10, ofA)
	s.pass(election.Between - election.Silence - 2*second)
	s.deaf = true
	s.pass(30 * second)
	s.wantTries(0, "the log does not answer any more")
}

// TestALookThatTakesLong: what a look finds was so when the look was asked for.
func TestALookThatTakesLong(t *testing.T) {
	n := election.New("b", 0, 10, ofA)
	var looks []time.Duration
	for now := time.Duration(0); now < 60*second; now += second / 4 {
		for _, e := range n.Step(now, election.Tick{}) {
			switch e.(type) {
			case election.Look:
				looks = append(looks, now)
			case election.Lead:
				t.Fatalf("it tries at %v", now)
			}
		}
		if len(looks) > 0 && now-looks[len(looks)-1] == 6*second {
			n.Step(now, election.Ended{Position: 10})
		}
	}
	if len(looks) < 5 {
		t.Errorf("%d looks", len(looks))
	}
}

// TestWhoWasAway: a process that stood still for an hour has heard nothing because of that, and listens first.
func TestWhoWasAway(t *testing.T) {
	s := follower(t, "b", 10, ofA)
	s.pass(60*second, election.Heard{Term: 3})
	s.now += time.Hour
	s.step(election.Tick{})
	s.pass(election.Silence - second/10)
	s.wantTries(0, "just after it woke")
	s.pass(election.MaxWait + 2*second)
	s.wantTries(1, "after five seconds")

	s = follower(t, "b", 10, ofA) // in the middle of the random wait
	s.pass(election.Between + second/100)
	s.now += 10 * second
	s.step(election.Tick{})
	s.wantTries(0, "the wait was over while it was away")
}

// TestALostTry: whoever wants to write and finds another's entry follows, and begins to count anew.
func TestALostTry(t *testing.T) {
	s := follower(t, "b", 10, ofA)
	s.pass(20 * second)
	s.wantTries(1, "a silent leader")
	s.pass(second) // the log does not say
	s.wantTries(0, "while it is not known")
	s.step(election.NotLed{})
	s.deaf = true
	s.pass(4 * second)
	s.wantTries(0, "just after it has lost")
	s.deaf, s.at = false, 11
	s.step(election.Applied{Position: 11, Term: election.Term{Number: 4, By: "c"}})
	s.wantLast(election.Connect{To: "c"})
	s.did = nil
	s.pass(election.Between - second)
	s.wantTries(0, "c has just begun")
	s.pass(5 * second)
	s.wantTries(1, "c is silent")
}

// TestTheLeaderThatComesBack: a node that led last goes on without a wait when nobody has written since, and follows where somebody has.
func TestTheLeaderThatComesBack(t *testing.T) {
	s := follower(t, "a", 10, ofA)
	s.step(election.Tick{})
	s.wantTries(1, "nobody has written")
	s = follower(t, "a", 10, ofA)
	s.deaf = true
	s.pass(10 * second)
	s.wantTries(0, "the log does not answer")
	s.step(election.Applied{Position: 11, Term: election.Term{Number: 4, By: "b"}})
	s.deaf, s.at = false, 11
	s.pass(10 * second)
	s.wantTries(0, "b has led")
}

// TestDeposed: a leader that is refused starts anew, and a node that follows or has left does nothing.
func TestDeposed(t *testing.T) {
	s := leader(t)
	s.step(election.Deposed{})
	s.wantLast(election.Restart{})
	s.did = nil
	s.pass(time.Minute)
	if s.did != nil || s.n.Role() != election.Over {
		t.Errorf("it did %#v", s.did)
	}
	s = leader(t)
	s.step(election.Stop{})
	s.step(election.Deposed{})
	s.wantLast(election.Quit{})
	s = follower(t, "b", 10, ofA)
	s.step(election.Deposed{})
	if s.n.Role() != election.Follows {
		t.Error("a follower was deposed")
	}
}

func leader(t *testing.T) *script {
	s := follower(t, "a", 10, ofA)
	s.step(election.Tick{})
	s.step(election.Led{Position: 11, Term: 4})
	s.at, s.did = 11, nil
	if s.n.Role() != election.Leads {
		t.Fatalf("it %v", s.n.Role())
	}
	return s
}

// TestALeaderLooks at the log from time to time, as it may have been deposed while it had nothing to write.
func TestALeaderLooks(t *testing.T) {
	s := leader(t)
	before := s.looks
	s.pass(time.Minute)
	if looks := s.looks - before; looks < 8 || looks > 14 {
		t.Errorf("%d looks in a minute", looks)
	}
}

// TestALaterTermIsLookedFor: a leader looks at the log at once when another node knows of a later term.
func TestALaterTermIsLookedFor(t *testing.T) {
	s := leader(t)
	s.pass(11 * second)
	before := s.looks
	s.step(election.Later{})
	s.step(election.Tick{})
	if s.looks != before+1 {
		t.Errorf("it looks %d times", s.looks-before)
	}
}

// TestHandOver: a leader that is to end takes nothing more, and has the follower lead that has most; where that does not, the next one.
func TestHandOver(t *testing.T) {
	s := leader(t)
	for _, f := range []election.Follower{{Node: "b", Position: 11}, {Node: "c", Position: 13}, {Node: "d", Position: 12}, {Node: "e", Position: 14}, {Node: "c", Position: 12}} {
		s.step(f)
	}
	s.step(election.FollowerLost{Node: "e"})
	s.step(election.Stop{})
	s.wantLast(election.Drain{})
	s.step(election.Stop{})
	s.step(election.Follower{Node: "d", Position: 14})
	s.step(election.Drained{Position: 14})
	s.wantLast(election.Call{Node: "d", Position: 14})
	s.step(election.HandedOver{})
	s.wantLast(election.Call{Node: "c", Position: 14})
	s.step(election.HandedOver{OK: true})
	s.wantLast(election.Quit{})
	if len(s.did) != 4 {
		t.Errorf("it did %#v", s.did)
	}

	s = leader(t)
	s.step(election.Stop{})
	s.step(election.Drained{Position: 11})
	s.wantLast(election.Quit{}) // nobody follows

	s = leader(t)
	s.step(election.Stop{})
	s.pass(election.MaxLeave) // the log does not answer
	s.wantLast(election.Quit{})

	s = follower(t, "b", 10, ofA)
	s.step(election.Stop{})
	s.wantLast(election.Quit{})
}

// TestCalled: a follower leads at once when the leader says so and it has all; not when another one has written since, nor much later.
func TestCalled(t *testing.T) {
	for _, c := range []struct {
		name    string
		at      uint64 // where the node is when it hears that
		entries []election.Applied
		after   time.Duration
		tries   int
	}{
		{"it has all", 10, nil, 0, 1},
		{"what is missing comes", 8, []election.Applied{{Position: 9, Term: ofA}, {Position: 10, Term: ofA}}, second, 1},
		{"it does not come", 8, []election.Applied{{Position: 9, Term: ofA}}, second, 0},
		{"it comes late", 8, []election.Applied{{Position: 10, Term: ofA}}, 6 * second, 0},
		{"another one leads", 8, []election.Applied{{Position: 11, Term: election.Term{Number: 4, By: "c"}}}, second, 0},
		{"another one led already", 11, nil, second, 0},
	} {
		s := follower(t, "b", c.at, ofA)
		s.step(election.Heard{Term: 3})
		s.step(election.Called{Position: 10})
		s.pass(c.after, election.Heard{Term: 3})
		for _, x := range c.entries {
			s.step(x)
		}
		s.wantTries(c.tries, c.name)
	}
}

// TestConnects: a follower without a stream asks for one again and again, and at once for that of a new leader.
func TestConnects(t *testing.T) {
	s := follower(t, "b", 10, ofA)
	s.pass(10*second, election.Lost{})
	n := 0
	for _, e := range s.did {
		if e == (election.Connect{To: "a"}) {
			n++
		}
	}
	if n < 5 || n > 21 {
		t.Errorf("%d streams were asked for in ten seconds", n)
	}
	s.did = nil
	s.step(election.Heard{Term: 3})
	s.pass(election.HeardLast - second/10)
	if s.did != nil {
		t.Errorf("with a stream it did %#v", s.did)
	}
	s.pass(second)
	s.wantLast(election.Connect{To: "a"})
	s.step(election.Applied{Position: 11, Term: election.Term{Number: 4, By: "c"}})
	s.wantLast(election.Connect{To: "c"})
	if slices.Contains(s.did, election.Effect(election.Connect{To: "b"})) {
		t.Error("it asks itself")
	}
}
