package gitplan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// many lets a host have many repositories that lack something, of an owner each.
func many(b *bench, server string, n int) {
	for i := range n {
		b.adds(gitplan.Lack{Of: repository(byte(i+1), "x"), Needs: needs(byte(i + 1)), Sources: sources(server)})
	}
}

func TestAHostIsAskedFourThingsAtATime(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	many(b, "a", 6)
	b.want(b.step(), "a:1 a:2 a:3 a:4")
	b.plan.Survey(repository(9, "x"), at("a"))
	b.want(b.step(), "")
	b.want(b.gives("a", 1), "a:5")
	b.want(b.gives("a", 2), "a:6")
	b.want(b.gives("a", 3), "a") // the survey
}

// TestAHostIsAskedWhileGraspdWorks: a host that has sent everything is asked for the next thing, while graspd works on what came. All the
// fetches together keep to their places.
func TestAHostIsAskedWhileGraspdWorks(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 8})
	many(b, "a", 12)
	b.want(b.step(), "a:1 a:2 a:3 a:4")
	under := b.ids()
	b.plan.Heard(under[0])
	b.want(b.step(), "a:5")
	b.plan.Heard(under[1])
	b.plan.Heard(under[2])
	b.want(b.step(), "a:6 a:7")
	b.plan.Heard(under[3])
	b.want(b.step(), "a:8")
	b.plan.Heard(b.ids()[4])
	b.plan.Heard(12345)
	b.want(b.step(), "")
	b.want(b.gives("a", 6), "a:9")
}

// A host has its places whatever its ports; what one port does is nothing to another.
func TestPortsOfAHost(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	for i := range byte(6) {
		url := grasp.Source(fmt.Sprintf("https://a.example.org:%d/r.git", 8000+int(i)))
		b.adds(gitplan.Lack{Of: repository(i+1, "x"), Needs: needs(i + 1), Sources: []grasp.Source{url}})
	}
	b.want(b.step(), "a:1 a:2 a:3 a:4")
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.Failed}), "a:5")
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.Limited, Retry: time.Hour}), "a:6")
	for _, e := range []byte{3, 4, 5, 6} {
		b.want(b.gives("a", e), "")
	}
	b.plan.PushFailed(b.clock(), repository(1, "x"))
	b.plan.PushFailed(b.clock(), repository(2, "x"))
	b.want(b.step(), "")
	did, _ := b.until(time.Minute)
	b.want(did, "a:1")
}

// A server that asks for less is left alone for as long as it says, and asked more slowly from then on.
func TestAServerThatAsksForLess(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	many(b, "a", 40)
	b.step()
	limited := func(retry time.Duration) gitplan.Outcome {
		return gitplan.Outcome{Answer: gitplan.Limited, Retry: retry}
	}
	b.want(b.ends("a", limited(90*time.Second)), "")
	if s := b.plan.Stats(b.clock()); s.Resting != 1 || s.Fetching != 3 || s.Lacking != 40 {
		t.Errorf("%+v", s)
	}
	for _, e := range []byte{2, 3, 4} {
		b.want(b.gives("a", e), "") // that others end changes nothing
	}
	did, d := b.until(time.Hour)
	if len(strings.Fields(did)) != 1 {
		t.Errorf("began %q", did)
	}
	b.within(d, 90*time.Second, 90*time.Second)
	pace := func(want time.Duration) {
		t.Helper()
		for range 2 {
			began, d := b.until(time.Hour)
			if len(strings.Fields(began)) != 1 {
				t.Fatalf("began %q", began)
			}
			b.within(d, want, want)
			b.gives("a")
		}
	}
	b.gives("a")
	pace(time.Second)
	b.until(time.Hour)
	b.ends("a", limited(0)) // 20 s and a bit, where it does not say
	_, d = b.until(time.Hour)
	b.within(d, 20*time.Second, 25*time.Second)
	b.gives("a")
	pace(2 * time.Second)
	b.until(time.Hour)
	b.ends("a", limited(100*time.Hour)) // an hour at most
	_, d = b.until(2 * time.Hour)
	b.within(d, time.Hour, time.Hour)
	b.gives("a")
	// Ten minutes without such an answer have halved the pace, and end it at last.
	pace(2 * time.Second)
	b.after(11 * time.Minute)
	b.gives("a")
	pace(time.Second)
	if began := b.after(11 * time.Minute); len(strings.Fields(began)) != gitplan.PerHost {
		t.Errorf("began %q", began)
	}
}

func TestThePaceHasABound(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	many(b, "a", 40)
	for range 12 {
		b.until(time.Hour)
		for len(b.under) > 0 {
			b.ends("a", gitplan.Outcome{Answer: gitplan.Limited})
		}
	}
	b.until(time.Hour)
	b.gives("a")
	_, d := b.until(time.Hour)
	b.within(d, time.Minute, time.Minute)
}

// A server that fails is left alone for longer and longer, whatever is lacked meanwhile, and after a day for six hours.
func TestAServerThatFails(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	failed := gitplan.Outcome{Answer: gitplan.Failed}
	b.want(b.lacks(x, "a", needs(1)...), "a:1")
	wait := 20 * time.Second
	began := b.now
	for b.now < began+24*time.Hour {
		b.want(b.ends("a", failed), "")
		b.plan.PushFailed(b.clock(), x) // everybody would be asked now
		did, d := b.until(8 * time.Hour)
		b.want(did, "a:1")
		b.within(d, wait, wait+wait/4)
		wait = min(2*wait, time.Hour)
	}
	b.ends("a", failed)
	b.plan.PushFailed(b.clock(), x)
	_, d := b.until(8 * time.Hour)
	b.within(d, 6*time.Hour, 6*time.Hour)
	b.gives("a") // it answers, and is as any other
	b.plan.PushFailed(b.clock(), x)
	b.want(b.step(), "a:1")
	b.ends("a", failed)
	b.plan.PushFailed(b.clock(), x)
	_, d = b.until(8 * time.Hour)
	b.within(d, 20*time.Second, 25*time.Second)
}

// What fails here says nothing of a server, and that a repository is not there is an answer.
func TestWhatSaysNothingOfAServer(t *testing.T) {
	for _, answer := range []gitplan.Answer{gitplan.Ours, gitplan.Absent, gitplan.Answered} {
		b := newBench(t, gitplan.Config{})
		b.want(b.lacks(repository(1, "x"), "a", needs(1)...), "a:1")
		b.want(b.ends("a", gitplan.Outcome{Answer: answer}), "")
		b.want(b.lacks(repository(2, "x"), "a", needs(2)...), "a:2")
		if s := b.plan.Stats(b.clock()); s.Resting != 0 {
			t.Errorf("%d: %+v", answer, s)
		}
	}
}

// A fetch that takes long takes no place of others. When all the places beyond are taken by such, those go that were quiet, and then
// the oldest; that counts as the server's failure.
func TestWhatTakesLongMakesRoom(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 2})
	names := strings.Fields("a b c d e f g h")
	prove(b, strings.Join(names, " "))
	for i, name := range names {
		b.want(b.lacks(repository(byte(i+1), "x"), name, needs(byte(i+1))...), fmt.Sprint(name, ":", i+1))
		b.after(61 * time.Second)
		if len(b.stopped) > 0 {
			t.Fatalf("%d fetches, and one is stopped for nobody", i+1)
		}
	}
	b.plan.PushFailed(b.clock(), repository(1, "x")) // nobody is waited for but those who are being asked
	b.want(b.step(), "")
	if len(b.stopped) > 0 {
		t.Fatal("one is stopped for nobody")
	}
	b.plan.Quiet(b.fetch("c").ID)
	b.want(b.step(), "")
	b.want(b.lacks(repository(50, "x"), "z", needs(50)...), "")
	if fmt.Sprint(b.stopped) != fmt.Sprint([]uint64{b.fetch("c").ID}) {
		t.Fatalf("stopped %v, and not the one that is quiet", b.stopped)
	}
	b.want(b.step(), "")
	if len(b.stopped) > 0 {
		t.Fatal("two are stopped for one")
	}
	b.want(b.ends("c", gitplan.Outcome{Answer: gitplan.Ours}), "z:50")
	if s := b.plan.Stats(b.clock()); s.Resting != 1 {
		t.Errorf("%+v", s)
	}
	b.lacks(repository(3, "x"), "")
	b.after(61 * time.Second)
	b.want(b.lacks(repository(51, "x"), "z", needs(51)...), "")
	if fmt.Sprint(b.stopped) != fmt.Sprint([]uint64{b.fetch("a").ID}) {
		t.Fatalf("stopped %v, and not the oldest", b.stopped)
	}
	b.want(b.gives("a", 1), "z:51") // it came all the same
	if s := b.plan.Stats(b.clock()); s.Resting != 0 {
		t.Errorf("%+v", s)
	}
}

// One owner's fetches that take long make room for those of the same owner.
func TestWhatTakesLongOfOneOwner(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 4})
	names := strings.Fields("a b c d e f g h")
	prove(b, strings.Join(names, " "))
	for i, name := range names {
		b.want(b.lacks(repository(1, name), name, needs(byte(i+1))...), fmt.Sprint(name, ":", i+1))
		b.after(61 * time.Second)
	}
	b.want(b.lacks(repository(2, "x"), "a", needs(20)...), "a:20")
	b.want(b.lacks(repository(1, "z"), "a", needs(30)...), "")
	if fmt.Sprint(b.stopped) != fmt.Sprint([]uint64{b.fetch("a").ID}) {
		t.Fatalf("stopped %v, and not the oldest", b.stopped)
	}
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.Ours}), "")
}

// A server that has more than may be here is in order, and not asked for the same before an hour has passed.
func TestAServerThatHasTooMuch(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.want(b.lacks(repository(1, "x"), "a", needs(1)...), "a:1")
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.TooMuch}), "")
	b.want(b.lacks(repository(2, "x"), "a", needs(2)...), "a:2")
	b.want(b.gives("a", 2), "")
	did, d := b.until(2 * time.Hour)
	b.want(did, "a:1")
	b.within(d, gitplan.LazyEvery, gitplan.LazyEvery)
}

// A host about which nothing is to be remembered is forgotten, once there are many.
func TestHostsAreForgotten(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	for i := range 1500 {
		x := repository(byte(i), fmt.Sprint(i))
		b.lacks(x, fmt.Sprint("s", i), needs(1)...)
		b.ends(fmt.Sprint("s", i), gitplan.Outcome{Answer: gitplan.Absent})
		b.lacks(x, "")
	}
	if s := b.plan.Stats(b.clock()); s.Hosts != 1500 {
		t.Errorf("%+v", s)
	}
	b.after(13 * time.Hour)
	if s := b.plan.Stats(b.clock()); s.Hosts != 0 {
		t.Errorf("%+v", s)
	}
}
