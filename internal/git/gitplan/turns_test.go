package gitplan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// eighth is a wait with the most that is added so that not all are asked at once.
func eighth(d time.Duration) time.Duration { return d + d/8 }

func TestSourcesAreAskedInTheirOrder(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.want(b.lacks(repository(1, "x"), "a b c", needs(1, 2)...), "a:1,2")
	b.want(b.step(), "")
	b.want(b.gives("a", 1), "b:2")
	b.want(b.ends("b", gitplan.Outcome{Answer: gitplan.Absent}), "c:2")
	b.want(b.gives("c", 2), "")
	if s := b.plan.Stats(b.clock()); s != (gitplan.Stats{Hosts: 3}) {
		t.Errorf("%+v", s)
	}
	if b.wake > 0 {
		now, _ := b.until(24 * time.Hour)
		b.want(now, "")
	}
}

// Who gave something last is asked first: the very repository, or another one on its server.
func TestWhoGaveLastIsAskedFirst(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.want(b.lacks(repository(1, "x"), "a b c", needs(1)...), "a:1")
	b.want(b.gives("a"), "b:1")
	b.want(b.gives("b", 1), "")
	b.want(b.lacks(repository(1, "x"), "a b c", needs(2)...), "b:2")
	b.want(b.gives("b"), "a:2")
	other := gitplan.Lack{Of: repository(1, "y"), Needs: needs(3), Sources: []grasp.Source{at("c"), at("a"), "https://b.example.org/y.git"}}
	b.plan.Lacks(b.clock(), other)
	b.want(b.step(), "b:3")
	b.want(b.lacks(repository(2, "x"), "c b", needs(4)...), "c:4")
	b.want(b.lacks(repository(1, "z"), "d e", needs(5)...), "d:5")
	// Of two repositories of one server the one that gave.
	two := gitplan.Lack{Of: repository(3, "x"), Needs: needs(6), Sources: []grasp.Source{"https://h.example.org/1.git", "https://h.example.org/2.git"}}
	b.plan.Lacks(b.clock(), two)
	b.want(b.step(), "h:6")
	b.want(b.gives("h"), "h:6")
	b.want(b.gives("h", 6), "")
	two.Needs = needs(7)
	b.plan.Lacks(b.clock(), two)
	b.want(b.step(), "h:7")
	if f := b.fetch("h"); f.Source != two.Sources[1] {
		t.Errorf("%s is asked first", f.Source)
	}
}

// A source that one event names is asked for that alone, after those of the repository.
func TestSourcesOfOneEvent(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	tip := gitplan.Need{Event: event(2), Sources: sources("fork a")}
	b.want(b.lacks(repository(1, "x"), "a", append(needs(1), tip)...), "a:1,2")
	b.want(b.gives("a"), "fork:2")
	b.want(b.gives("fork", 2), "")
	did, d := b.until(time.Hour)
	b.want(did, "a:1")
	b.within(d, 20*time.Second, eighth(20*time.Second))
}

func TestAPushIsWaitedFor(t *testing.T) {
	x := repository(1, "x")
	pushed := gitplan.Need{Event: event(1), After: gitplan.PushWithin}
	for name, tt := range map[string]struct {
		meanwhile func(*bench)
		want      string
		after     time.Duration
	}{
		"which does not come":                 {func(*bench) {}, "a:1", gitplan.PushWithin},
		"which fails":                         {func(b *bench) { b.plan.PushFailed(b.clock(), x) }, "a:1", time.Minute},
		"which comes":                         {func(b *bench) { b.want(b.lacks(x, "a"), "") }, "", time.Hour},
		"of another repository fails":         {func(b *bench) { b.plan.PushFailed(b.clock(), repository(2, "x")) }, "a:1", gitplan.PushWithin},
		"and something else comes by a relay": {func(b *bench) { b.want(b.lacks(x, "a", pushed, needs(2)[0]), "a:2"); b.want(b.gives("a", 2), "") }, "a:1", gitplan.PushWithin},
		"and the event is served before":      {func(b *bench) { b.want(b.lacks(x, "a", gitplan.Need{Event: event(1), After: 2 * time.Second}), "") }, "a:1", 62 * time.Second},
		"and looked at again":                 {func(b *bench) { b.want(b.lacks(x, "a", pushed), "") }, "a:1", gitplan.PushWithin},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, gitplan.Config{})
			b.want(b.lacks(x, "a", pushed), "")
			b.want(b.after(time.Minute), "")
			tt.meanwhile(b)
			did, d := b.until(time.Hour - time.Minute)
			b.want(did, tt.want)
			b.within(time.Minute+d, tt.after, tt.after)
		})
	}
}

// What is first looked for later is not forgotten when what was looked for at once has come by itself.
func TestWhatIsLeftIsNotForgotten(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x, pushed := repository(1, "x"), gitplan.Need{Event: event(1), After: gitplan.PushWithin}
	soon := gitplan.Need{Event: event(2), After: time.Second}
	b.want(b.lacks(x, "a", pushed, soon), "")
	b.want(b.lacks(x, "a", pushed), "")
	did, d := b.until(time.Hour)
	b.want(did, "a:1")
	b.within(d, gitplan.PushWithin, gitplan.PushWithin)
}

// A source that has nothing is asked after 20 s, 40, 80, and every two minutes, and hourly once half an hour has passed without
// anything new.
func TestEagerThenHourly(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a", needs(1)...), "a:1")
	began := b.now
	for i, wait := range []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second, 2 * time.Minute, 2 * time.Minute} {
		b.want(b.gives("a"), "")
		did, d := b.until(2 * time.Hour)
		if did == "" {
			t.Fatalf("round %d never comes", i)
		}
		b.within(d, wait, eighth(wait))
	}
	for b.now < began+gitplan.EagerFor {
		b.gives("a")
		b.until(2 * time.Hour)
	}
	b.want(b.gives("a"), "")
	for range 30 {
		did, d := b.until(2 * time.Hour)
		b.want(did, "a:1")
		b.within(d, gitplan.LazyEvery, eighth(gitplan.LazyEvery))
		b.want(b.gives("a"), "")
	}
	// Something that is new makes for another half hour.
	b.want(b.lacks(x, "a", needs(1, 2)...), "a:1,2")
	b.gives("a")
	_, d := b.until(2 * time.Hour)
	b.within(d, 20*time.Second, eighth(20*time.Second))
	b.gives("a")
	b.want(b.lacks(x, "a b", needs(1, 2)...), "a:1,2") // so does another source
	b.want(b.gives("a"), "b:1,2")
	b.gives("b")
	b.want(b.lacks(x, "a b", needs(2)...), "") // and less does not
	_, d = b.until(2 * time.Hour)
	b.within(d, 20*time.Second, eighth(20*time.Second))
}

// While a source is being asked no other one is, until nothing has come from it for a while, or it takes very long.
func TestOneSourceAtATime(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a b c d e", needs(1)...), "a:1")
	b.want(b.after(9*time.Second), "")
	for i, next := range []string{"b:1", "c:1", "d:1", ""} { // four are enough
		b.plan.Quiet(b.fetch(string("abcd"[i])).ID)
		b.want(b.step(), next)
	}
	b.want(b.gives("b"), "e:1")
	b.plan.Quiet(12345)
	b.want(b.lacks(repository(2, "x"), "x y", needs(2)...), "x:2")
	did, d := b.until(time.Hour)
	b.want(did, "y:2")
	b.within(d, 5*time.Minute, 5*time.Minute)
}

// What is no longer wanted is stopped, and nothing else is.
func TestWhatIsNoLongerWantedIsStopped(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a", needs(1, 2)...), "a:1,2")
	b.want(b.lacks(x, "a", needs(2, 3)...), "")
	if len(b.stopped) != 0 {
		t.Fatal("stopped, and one of two is lacked")
	}
	b.want(b.lacks(x, "a", needs(3)...), "")
	if fmt.Sprint(b.stopped) != fmt.Sprint(b.ids()) {
		t.Fatalf("stopped %v", b.stopped)
	}
	b.want(b.step(), "")
	if len(b.stopped) != 0 {
		t.Fatal("stopped twice")
	}
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.Ours}), "a:3")
	b.want(b.lacks(x, "a"), "")
	if len(b.stopped) != 1 {
		t.Fatal("a push brought everything, and it goes on")
	}
	b.plan.Survey(repository(2, "x"), at("s"))
	b.want(b.step(), "s")
	b.want(b.step(), "")
	if len(b.stopped) != 0 {
		t.Fatal("a survey is stopped")
	}
}

// Owners take turns, and one has half of the places.
func TestOwnersTakeTurns(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 4})
	prove(b, "a b c d e f")
	for i, server := range strings.Fields("a b c d e f") {
		b.adds(gitplan.Lack{Of: repository(1, fmt.Sprint(i)), Needs: needs(byte(10 + i)), Sources: sources(server)})
	}
	b.adds(gitplan.Lack{Of: repository(2, "x"), Needs: needs(20), Sources: sources("a")})
	b.want(sortedWords(b.step()), "a:10 a:20 b:11")
	b.want(b.gives("a"), "c:12")
	b.adds(gitplan.Lack{Of: repository(3, "x"), Needs: needs(30), Sources: sources("a")})
	b.adds(gitplan.Lack{Of: repository(4, "x"), Needs: needs(40), Sources: sources("a")})
	b.want(b.step(), "a:30")
	b.want(b.gives("b", 11), "a:40") // it has waited longer than the first owner's next one
}

// While one source of a repository cannot be asked, another one is as soon as its time comes.
func TestASourceWhoseTimeComes(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 4})
	prove(b, "known")
	for i, name := range strings.Fields("new other") {
		b.want(b.lacks(repository(byte(10+i), "x"), name, needs(byte(10+i))...), fmt.Sprint(name, ":", 10+i))
	}
	b.want(b.lacks(repository(1, "x"), "known third", needs(1)...), "known:1")
	b.want(b.gives("known"), "")
	did, d := b.until(time.Minute)
	b.want(did, "known:1")
	b.within(d, 20*time.Second, eighth(20*time.Second))
}

// Nobody is asked again, and nobody for a part, before the others of a round were asked, however long these are waited for.
func TestEachIsAskedBeforeOneIsAskedAgain(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	ends := func(name string, o gitplan.Outcome, then string) {
		t.Helper()
		b.want(b.after(100*time.Second), "") // all have their turns
		b.want(b.ends(name, o), then)
	}
	b.want(b.lacks(repository(1, "x"), "a b c", needs(1, 2)...), "a:1,2")
	ends("a", gitplan.Outcome{}, "b:1,2")
	ends("b", gitplan.Outcome{Answer: gitplan.Refused}, "c:1")
	ends("c", gitplan.Outcome{}, "b:1")
	ends("b", gitplan.Outcome{}, "c:2")
	ends("c", gitplan.Outcome{}, "b:2")
	ends("b", gitplan.Outcome{}, "a:1")
	ends("a", gitplan.Outcome{}, "a:2")
	ends("a", gitplan.Outcome{}, "c:1")
	b.want(b.lacks(repository(1, "x"), "a b c", needs(1, 3)...), "") // which is new: a round begins
	ends("c", gitplan.Outcome{}, "a:1")
}

// Servers that have never answered take half of the places.
func TestServersThatNeverAnsweredTakeHalf(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 4})
	prove(b, "known")
	for i := range byte(4) {
		b.adds(gitplan.Lack{Of: repository(10+i, "x"), Needs: needs(i), Sources: sources(fmt.Sprint("new", i))})
	}
	if began := b.step(); len(strings.Fields(began)) != 2 {
		t.Fatalf("began %q", began)
	}
	for i := range byte(3) {
		b.adds(gitplan.Lack{Of: repository(20+i, "x"), Needs: needs(20 + i), Sources: sources("known")})
	}
	b.want(b.step(), "known:20 known:21")
	for _, id := range b.ids()[:2] {
		b.plan.Quiet(id) // one that is quiet takes no place
	}
	if began := b.step(); len(strings.Fields(began)) != 2 {
		t.Fatalf("began %q", began)
	}
}

// prove lets servers answer once.
func prove(b *bench, servers string) {
	b.Helper()
	for server := range strings.FieldsSeq(servers) {
		b.want(b.lacks(repository(99, server), server, needs(255)...), server+":255")
		b.gives(server, 255)
	}
}

func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}
