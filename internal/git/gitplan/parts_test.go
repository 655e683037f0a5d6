package gitplan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rejects ends a fetch, which brings everything unless a poisoned event is among what it is for.
func (b *bench) rejects(server string, poison ...byte) string {
	b.Helper()
	f := b.fetch(server)
	o := gitplan.Outcome{Brought: f.Needs, Requests: 3}
	if slices.ContainsFunc(f.Needs, func(id nostr.ID) bool { return slices.Contains(poison, id[0]) }) {
		o.Brought, o.Answer = nil, gitplan.Refused
	}
	return b.ends(server, o)
}

// Where something of one event is not taken, the others come in halves, and it is not asked for with them again.
func TestWhatIsNotTakenKeepsNothingElseAway(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a", needs(1, 2, 3, 4, 5, 6, 7, 8)...), "a:1,2,3,4,5,6,7,8")
	for _, next := range []string{"a:1,2,3,4", "a:5,6,7,8", "a:5,6", "a:5", "a:6", "a:7,8", ""} {
		b.want(b.rejects("a", 6), next)
	}
	if s, _ := b.plan.Standing(b.clock(), x); s.Needs != 1 || s.Next < gitplan.LazyEvery {
		t.Errorf("%+v", s)
	}
	b.want(b.lacks(x, "a", needs(6, 9, 10)...), "a:9,10") // not with what is new
	b.want(b.rejects("a", 6), "")
	for wait := gitplan.LazyEvery; wait < 20*time.Hour; wait *= 2 { // and by itself every hour, two, four, and six
		did, d := b.until(24 * time.Hour)
		b.want(did, "a:6")
		b.within(d, min(wait, 6*time.Hour)-time.Minute, min(wait, 6*time.Hour))
		b.want(b.rejects("a", 6), "")
	}
	b.want(b.lacks(x, "a c", needs(6, 11)...), "a:11") // another source may have it in order
	b.want(b.rejects("a", 6), "c:6")
	b.want(b.rejects("c"), "")
	if s := b.plan.Stats(b.clock()); s.Lacking != 0 || s.Resting != 0 {
		t.Errorf("%+v", s)
	}
}

// Something of everything is refused: each is tried by itself, once, and nobody is asked on and on.
func TestNothingIsTaken(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	var poison []byte
	for n := range byte(10) {
		poison = append(poison, n)
	}
	b.lacks(repository(1, "x"), "a", needs(poison...)...)
	n := 0
	for ; len(b.under) > 0; n++ {
		b.rejects("a", poison...)
	}
	if n < 10 || n > 20 {
		t.Errorf("%d fetches", n)
	}
	did, d := b.until(24 * time.Hour)
	if b.within(d, 59*time.Minute, gitplan.LazyEvery); len(strings.Split(did, ",")) != 1 {
		t.Errorf("began %q", did)
	}
}

// What has something of it that is known not to be taken is asked for by itself from the start.
func TestWhatIsKnownNotToBeTaken(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	bad := gitplan.Need{Event: event(3), Alone: true}
	b.want(b.lacks(repository(1, "x"), "a", append(needs(1, 2), bad, needs(4)[0])...), "a:1,2,4")
	b.want(b.rejects("a", 3), "a:3")
	b.want(b.rejects("a", 3), "")
}

// In parts every source is asked for everything in each of its rounds.
func TestPartsAreOfOneRound(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a", needs(1, 2, 3, 4)...), "a:1,2,3,4")
	b.want(b.rejects("a", 4), "a:1,2")
	b.want(b.gives("a"), "a:3,4") // it has them no more
	b.want(b.rejects("a", 4), "a:3")
	b.want(b.gives("a"), "a:4")
	b.want(b.rejects("a", 4), "")
	did, d := b.until(time.Hour)
	b.want(did, "a:1,2")
	b.within(d, 20*time.Second, 2*eighth(40*time.Second))
	b.want(b.gives("a", 1, 2), "a:3")
	b.want(b.gives("a", 3), "")
	b.plan.PushFailed(b.clock(), x) // everybody is asked anew, for what they may be asked for
	b.want(b.step(), "")
}

// What is lacked besides changes nothing about what cannot be asked for together.
func TestPartsOutliveWhatIsNew(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	b.want(b.lacks(x, "a", needs(1, 2, 3, 4)...), "a:1,2,3,4")
	b.want(b.rejects("a", 4), "a:1,2")
	b.want(b.lacks(x, "a", needs(1, 2, 3, 4, 5)...), "")
	b.want(b.gives("a"), "a:1,2") // everybody is asked anew, for what is asked for together
	b.want(b.gives("a", 1, 2), "a:3,4")
	b.want(b.gives("a", 3, 4), "a:5")
}

// stops steps, and ends what is stopped, until nothing is. It gives how many were, and what began.
func (b *bench) stops() (n int, began string) {
	for began = b.step(); len(b.stopped) > 0; n++ {
		began += " " + b.ends(strings.TrimSuffix(b.under[b.stopped[0]].Source.Host(), ".example.org"), gitplan.Outcome{Answer: gitplan.Ours})
	}
	return n, began
}

// However much was stopped before and never ends, there is room for others.
func TestWhatNeverEndsMakesRoom(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 2})
	names := strings.Fields("a b c d e f g h i j")
	prove(b, strings.Join(names, " "))
	for i, name := range names {
		b.adds(gitplan.Lack{Of: repository(byte(i+1), "x"), Needs: needs(byte(i + 1)), Sources: sources(name)})
	}
	stopped := 0
	for until := b.now + 20*time.Hour; b.now < until; b.now += time.Minute {
		n, _ := b.stops()
		stopped += n
	}
	if stopped < 10 {
		t.Fatalf("%d were stopped", stopped)
	}
	b.adds(gitplan.Lack{Of: repository(99, "x"), Needs: needs(99), Sources: sources("z")})
	for range 10 {
		b.now += time.Minute
		if _, began := b.stops(); strings.Contains(began, "z:99") {
			return
		}
	}
	t.Error("there is no room for what is new")
}

// What takes long and was stopped for others is not stopped again and again: it is through at last, though others wait all the time.
func TestWhatTakesLongIsThroughAtLast(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 2})
	var names []string
	for i := range byte(12) {
		names = append(names, fmt.Sprint("s", i))
	}
	prove(b, strings.Join(names, " "))
	began, through := map[uint64]time.Duration{}, map[string]int{}
	for i, name := range names {
		b.adds(gitplan.Lack{Of: repository(byte(i+1), "x"), Needs: needs(byte(i + 1)), Sources: sources(name)})
	}
	for until := b.now + 8*time.Hour; b.now < until; {
		b.stops()
		for _, id := range b.ids() {
			f, ok := b.under[id]
			if _, known := began[id]; ok && !known {
				began[id] = b.now
			}
			if ok && b.now-began[id] > 20*time.Minute {
				name := strings.TrimSuffix(f.Source.Host(), ".example.org")
				through[name]++
				of := f.Of
				b.gives(name, f.Needs[0][0])
				b.lacks(of, name, gitplan.Need{Event: nostr.ID{f.Needs[0][0], byte(through[name])}})
			}
		}
		b.now += 10 * time.Second
	}
	for _, name := range names {
		if through[name] < 3 {
			t.Logf("%v", through)
			t.Errorf("%s was through %d times in eight hours: %v", name, through[name], through)
		}
	}
}

// Those are kept on first that were stopped for the first time the longest ago, whenever they began again.
func TestWhoWasStoppedFirstIsKeptOn(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 2})
	prove(b, "a b c d e f g h i z")
	begins := func(name string) {
		t.Helper()
		n := name[0]
		b.want(b.lacks(repository(n, "x"), name, needs(n)...), fmt.Sprint(name, ":", n))
		b.after(61 * time.Second)
	}
	stops := func(name string) { // as z waits
		t.Helper()
		b.want(b.lacks(repository('z', "x"), "z", needs('z')...), "")
		if fmt.Sprint(b.stopped) != fmt.Sprint([]uint64{b.fetch(name).ID}) {
			t.Fatalf("stopped %v, and not %s, which is %d", b.stopped, name, b.fetch(name).ID)
		}
		b.want(b.ends(name, gitplan.Outcome{Answer: gitplan.Ours}), "z:122")
	}
	again := func(name string) {
		t.Helper()
		b.plan.Quiet(b.fetch(name).ID)
		stops(name)
		b.want(b.gives("z", 'z'), "")
		began, _ := b.until(time.Minute)
		b.want(began, fmt.Sprint(name, ":", name[0]))
		b.after(61 * time.Second)
	}
	for name := range strings.FieldsSeq("a b c d e f g h") {
		begins(name)
	}
	for name := range strings.FieldsSeq("c a d b g h e f g") {
		again(name)
	}
	b.want(b.gives("c"), "c:99") // it was through, and counts as any other
	b.after(61 * time.Second)
	again("c")
	b.want(b.gives("c", 'c'), "")
	begins("i")
	b.plan.Quiet(b.fetch("a").ID)
	b.plan.Quiet(b.fetch("g").ID)
	stops("h")
}

// One of a repository is kept on for having been stopped before, whatever its number of sources.
func TestOneOfARepositoryIsKeptOn(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 4})
	prove(b, "a b c d e f")
	x := repository(1, "x")
	stop := func() {
		t.Helper()
		for n := 0; len(b.stopped) == 0; n++ {
			if n == 100 {
				t.Fatal("nothing is stopped any more")
			}
			b.until(10 * time.Minute)
			for _, id := range b.ids() {
				b.plan.Quiet(id)
			}
		}
	}
	b.lacks(x, "a b c d e", needs(1)...)
	stop()
	seen := map[uint64]bool{}
	for range 20 {
		for _, id := range b.stopped {
			seen[id] = true
			b.ends(strings.TrimSuffix(b.under[id].Source.Host(), ".example.org"), gitplan.Outcome{Answer: gitplan.Ours})
		}
		stop()
	}
	if len(seen) < 10 {
		t.Errorf("%d were stopped", len(seen))
	}
}
