package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// filler plays the parts of a relay that fills itself.
type filler struct {
	t   *testing.T
	now time.Time
	f   *status.Filling
	s   status.Sight
}

func newFiller(t *testing.T) *filler {
	now := time.Unix(1_800_000_000, 0)
	return &filler{t: t, now: now, f: status.NewFilling(now), s: status.Sight{Git: true, Looked: 1, Changed: 1}}
}

const boot = grasp.RelayURL("wss://boot.example.net")

// missing is a repository that waits for half an hour from the filler's start on.
func (x *filler) missing(name string, tried ...status.GitServer) status.Missing {
	return status.Missing{Address: name, Name: status.Text(name), Until: status.Moment{Time: time.Unix(1_800_000_000, 0).Add(30 * time.Minute)}, Servers: tried}
}

// look looks a second later, and returns what is said.
func (x *filler) look(change ...func(*status.Sight)) status.Readiness {
	x.now = x.now.Add(time.Second)
	for _, c := range change {
		c(&x.s)
	}
	x.s.At, x.s.Waits = x.now, len(x.s.Missing) > 0
	x.f.Look(x.s)
	return x.f.Readiness()
}

// says fails where a Readiness does not say so.
func (x *filler) says(r status.Readiness, ready bool, text string) {
	x.t.Helper()
	if r.Ready != ready || x.f.Ready() != ready || !strings.Contains(r.String(), text) || strings.HasPrefix(r.String(), "ready") != ready {
		x.t.Errorf("ready %v: %q, want %v with %q", r.Ready, r, ready, text)
	}
}

func wants(relays ...grasp.RelayURL) func(*status.Sight) {
	return func(s *status.Sight) { s.Relays = relays }
}

func lacks(list ...status.Missing) func(*status.Sight) {
	return func(s *status.Sight) { s.Missing = list }
}

func served(n int) func(*status.Sight) { return func(s *status.Sight) { s.Served = n } }

// A relay is ready when what was announced is served, and what that made wanted was asked for.
func TestReadyMeansServed(t *testing.T) {
	x := newFiller(t)
	if r := x.f.Readiness(); r.Ready || r.Announced != 0 {
		t.Errorf("before the first look: %+v", r)
	}
	x.says(x.look(wants(boot)), false, "not ready: 0 of 0 repositories are served; the initial sync has not finished yet: wss://boot.example.net")
	one, two := x.missing("one", status.GitServer{URL: "https://a.example.net/one.git", Error: "connection refused", Asked: status.Unix(5)}), x.missing("two")
	x.says(x.look(lacks(one, two)), false, "0 of 2 repositories are served; the initial sync")
	x.says(x.look(wants()), false, "not ready: 0 of 2 repositories are served; git data is missing of one (https://a.example.net/one.git: connection refused), two (")
	x.says(x.look(lacks(one), served(1)), false, "1 of 2")
	x.says(x.look(lacks(), served(2)), false, "2 of 2") // and now what belongs to them
	if x.f.Round() != 1 {
		t.Fatalf("round %d", x.f.Round())
	}
	x.says(x.look(wants(boot)), false, "not ready: 2 of 2 repositories are served; what belongs to these is asked for: wss://boot.example.net")
	x.says(x.look(wants()), true, "ready: 2 of 2 repositories are served")
	x.says(x.look(wants(boot), lacks(one)), true, "ready: 2 of 3 repositories are served; git data is missing of one")
}

// What a round makes known is waited for once more, and then a last round is asked.
func TestReadyAfterThreeRoundsAtMost(t *testing.T) {
	x := newFiller(t)
	x.look(lacks(x.missing("one")))
	x.look(lacks())
	x.says(x.look(lacks(x.missing("pull request"))), false, "")
	x.says(x.look(), false, "")
	x.says(x.look(lacks()), false, "")
	if x.f.Round() != 2 {
		t.Fatalf("round %d", x.f.Round())
	}
	x.says(x.look(wants(boot), lacks(x.missing("late"))), false, "")
	x.says(x.look(wants()), true, "")
}

func TestReadyWithoutGit(t *testing.T) {
	x := newFiller(t)
	x.s.Git = false
	x.says(x.look(wants(boot)), false, "boot")
	x.says(x.look(wants()), true, "ready")
	y := newFiller(t)
	y.look()
	if r := y.look(); r.String() != "ready" {
		t.Errorf("an empty relay is %q", r)
	}
}

// Nothing counts as looked for before the search has looked at all that was here when the relays had answered.
func TestReadyOnlyAfterALook(t *testing.T) {
	x := newFiller(t)
	gone := x.missing("one")
	gone.Through = true // as one of which no state has come
	x.says(x.look(lacks(gone), func(s *status.Sight) { s.Looked, s.Changed = 0, 7 }), false, "")
	x.says(x.look(func(s *status.Sight) { s.Looked, s.Changed = 6, 9 }), false, "")
	if x.f.Round() != 0 {
		t.Fatal("the first round is over without a look")
	}
	x.look(func(s *status.Sight) { s.Looked = 7 })
	if x.f.Round() != 1 {
		t.Fatal("a change after the relays' answers holds up the round")
	}
}

// What is known not to be had is not waited for, and not called served either.
func TestReadyWithoutWhatIsNotToBeHad(t *testing.T) {
	x := newFiller(t)
	m := x.missing("one", status.GitServer{URL: "https://a.example.net", Error: "not found", Asked: status.Unix(5)})
	x.says(x.look(lacks(m)), false, "")
	m.Through = true
	x.look(lacks(m))
	if x.f.Round() != 1 {
		t.Fatal("it is waited for")
	}
	m.Through = false // it is asked for again
	x.look(lacks(m))
	m.Through = true
	x.look(lacks(m))
	x.says(x.look(), true, "ready: 0 of 1 repository is served; git data is missing of one (https://a.example.net: not found)")
}

// Whoever announces more while a relay waits does not put it off.
func TestReadyInSpiteOfMoreAnnouncements(t *testing.T) {
	x := newFiller(t)
	x.look(lacks(x.missing("one")))
	x.look(lacks(x.missing("one"), x.missing("two")))
	x.look(lacks(x.missing("two")))
	if x.f.Round() != 1 {
		t.Fatal("what came later is waited for")
	}
}

// After ten minutes it is a problem, which says what was tried where, until the repository is served or a day is over.
func TestWhatIsMissingBecomesAProblem(t *testing.T) {
	x := newFiller(t)
	m := x.missing("one", status.GitServer{URL: "https://a.example.net/one.git", Error: "connection refused", Asked: status.Unix(5)})
	x.look(lacks(m))
	x.now = x.now.Add(9 * time.Minute)
	if p := x.look().Problem(); p != "" {
		t.Errorf("after nine minutes: %s", p)
	}
	x.now = x.now.Add(time.Minute)
	r := x.look()
	x.says(r, false, "")
	for _, want := range []string{"0 of 1 repository is served", "10 min", "one (https://a.example.net/one.git: connection refused)"} {
		if !strings.Contains(r.Problem(), want) {
			t.Errorf("%q has no %q", r.Problem(), want)
		}
	}
	x.now = time.Unix(1_800_000_000, 0).Add(30 * time.Minute)
	x.look(lacks()) // given up: no longer waited for, and no less missing
	x.says(x.look(), true, "ready: 0 of 1 repository is served; git data is missing of one")
	if p := x.look().Problem(); !strings.Contains(p, "one (https://a.example.net/one.git: connection refused)") || fmt.Sprint(x.f.Lapsed()) != "[one]" {
		t.Errorf("given up: %q %v", p, x.f.Lapsed())
	}
	here := *x
	if p := here.look(func(s *status.Sight) { s.Back, s.Served = []string{"one"}, 1 }).Problem(); p != "" {
		t.Errorf("served after all: %s", p)
	}
	y := newFiller(t)
	y.look(lacks(m))
	y.now = y.now.Add(30 * time.Minute)
	y.look(lacks())
	y.now = y.now.Add(24 * time.Hour)
	if r := y.look(); r.Problem() != "" || r.Announced != 0 {
		t.Errorf("a day later: %s %+v", r.Problem(), r)
	}
}

// What its author took back before its time is missing no more; nor is it a problem what others announce once the relay is ready.
func TestWhatIsNoProblem(t *testing.T) {
	x := newFiller(t)
	x.look(lacks(x.missing("one")))
	x.now = x.now.Add(20 * time.Minute)
	if r := x.look(lacks()); r.Announced != 0 || r.Problem() != "" {
		t.Errorf("taken back: %+v", r)
	}
	x.look()
	x.says(x.look(lacks(x.missing("two"))), true, "0 of 1")
	x.now = x.now.Add(20 * time.Minute)
	if p := x.look().Problem(); p != "" {
		t.Errorf("announced later: %s", p)
	}
}

func TestARelayThatDoesNotAnswerIsAProblem(t *testing.T) {
	x := newFiller(t)
	if p := x.look(wants(boot)).Problem(); p != "" {
		t.Error(p)
	}
	x.now = x.now.Add(10 * time.Minute)
	if p := x.look().Problem(); !strings.Contains(p, "10 min") || !strings.Contains(p, string(boot)) {
		t.Errorf("%q", p)
	}
	if p := x.look(wants()).Problem(); p != "" {
		t.Error(p)
	}
}

// A hundred repositories are counted, and twenty of them named.
func TestManyAreMissing(t *testing.T) {
	x := newFiller(t)
	var all []status.Missing
	for i := range 100 {
		all = append(all, x.missing(fmt.Sprintf("repo%02d", i)))
	}
	all[0].Served = true
	r := x.look(lacks(all...), served(1))
	if len(r.Missing) != status.MissingTold || r.More != 80 || r.Announced != 100 || r.Served != 1 {
		t.Errorf("%d %d %d %d", len(r.Missing), r.More, r.Announced, r.Served)
	}
	if !strings.HasSuffix(r.String(), ", 97 more") || !strings.Contains(r.String(), "repo00 (") {
		t.Error(r)
	}
}

// Words of strangers do nothing to a terminal.
func TestWordsOfStrangersAreShownAsWords(t *testing.T) {
	x := newFiller(t)
	r := x.look(lacks(x.missing("a\x1b[2Jb", status.GitServer{URL: "https://x\n", Error: "\x07", Asked: status.Unix(5)})))
	if strings.ContainsAny(r.String(), "\x1b\n\x07") {
		t.Errorf("%q", r)
	}
}
