package gitplan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// crowd lets a host have this many repositories that lack something, of four owners.
func crowd(b *bench, server string, n int) {
	for i := range n {
		b.adds(gitplan.Lack{Of: repository(byte(i%4), fmt.Sprint(server, i)), Needs: needs(1), Sources: sources(server)})
	}
}

// for lets time pass in which whatever begins ends at once, and counts that.
func (b *bench) lasts(d time.Duration, o gitplan.Outcome) (n int) {
	until := b.now + d
	for b.now < until {
		b.until(until - b.now)
		n += b.endAll(o)
	}
	return n
}

func (b *bench) endAll(o gitplan.Outcome) (n int) {
	for len(b.under) > 0 {
		for _, id := range b.ids() {
			f := b.under[id]
			delete(b.under, id)
			b.now += time.Millisecond
			x := o
			if o.Answer == gitplan.Answered && o.Brought != nil {
				x.Brought = f.Needs
			}
			b.plan.Ended(b.clock(), id, x)
			n++
		}
		b.step()
	}
	return n
}

// A host that has nothing of all that is looked for there is asked 60 requests at once and 60 a minute, before it ever says that these are
// too many.
func TestAHostIsAskedSoMuchInVain(t *testing.T) {
	for _, requests := range []int{0, 1, 3, 6} {
		b := newBench(t, gitplan.Config{Concurrency: 20})
		crowd(b, "a", 400)
		each := requests
		if each == 0 {
			each = 3 // as long as nobody tells
		}
		o := gitplan.Outcome{Answer: gitplan.Absent, Requests: requests}
		if n := b.lasts(time.Second, o) * each; n < 55 || n > 75 {
			t.Errorf("%d requests at once, of %d each", n, each)
		}
		if n := b.lasts(10*time.Minute, o) * each; n < 500 || n > 720 {
			t.Errorf("%d requests in ten minutes, of %d each", n, each)
		}
		if b.step(); b.wake <= 0 || b.wake > 3*time.Second {
			t.Errorf("wakes in %v", b.wake)
		}
		b.want(b.lacks(repository(9, "x"), "b", needs(1)...), "b:1") // another host has its own allowance
	}
}

// Whoever has what is looked for is asked as fast as they give it, and so is one that has a quarter of it.
func TestAHostThatGivesIsAskedOn(t *testing.T) {
	for _, every := range []int{1, 4} {
		b := newBench(t, gitplan.Config{Concurrency: 20})
		crowd(b, "a", 1000)
		n, asked := 0, 0
		b.step()
		for len(b.under) > 0 {
			f := b.fetch("a")
			delete(b.under, f.ID)
			o := gitplan.Outcome{Requests: 3}
			if n++; n%every == 0 {
				o.Brought = f.Needs
			}
			b.now += time.Millisecond
			b.plan.Ended(b.clock(), f.ID, o)
			b.step()
		}
		if asked = n; asked < 1000 {
			t.Errorf("one of %d has it, and %d are asked for", every, asked)
		}
	}
}

// What it was asked for in vain leaves half of the allowance to what is new.
func TestWhatIsNewIsAskedForAllTheSame(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	crowd(b, "a", 19)
	o := gitplan.Outcome{Requests: 3}
	b.lasts(20*time.Minute, o)
	b.want(b.lacks(repository(9, "new"), "a", needs(7)...), "a:7")
	b.gives("a", 7)
	again := 0
	for range 600 { // and what is new leaves half to the others
		b.adds(gitplan.Lack{Of: repository(8, fmt.Sprint(b.now)), Needs: needs(8), Sources: sources("a")})
		did := b.after(time.Second)
		again += strings.Count(did, "a:1")
		b.endAll(o)
	}
	if again < 50 {
		t.Errorf("asked again %d times in ten minutes", again)
	}
}

// All ports of a host share its allowance.
func TestPortsShareTheAllowance(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 20})
	for i := range 400 {
		url := grasp.Source(fmt.Sprintf("https://a.example.org:%d/r.git", 1000+i))
		b.adds(gitplan.Lack{Of: repository(byte(i%4), fmt.Sprint(i)), Needs: needs(1), Sources: []grasp.Source{url}})
	}
	if n := b.lasts(10*time.Minute, gitplan.Outcome{Requests: 3}); n > 240 {
		t.Errorf("%d fetches", n)
	}
}

// Surveys are out of the same allowance.
func TestSurveysAreOutOfTheAllowance(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	for i := range 256 {
		b.plan.Survey(repository(7, fmt.Sprint(i)), at("a"))
	}
	if n := b.lasts(time.Minute, gitplan.Outcome{Requests: 2}); n > 50 {
		t.Errorf("%d surveys in a minute", n)
	}
}

// A server that fails, and is there again as is known from elsewhere, is asked in a moment; one that wants to be left alone is not.
func TestAServerThatReturns(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	fails := func() time.Duration {
		failed := b.now
		for b.now < failed+3*time.Hour {
			if len(b.under) > 0 {
				b.ends("a", gitplan.Outcome{Answer: gitplan.Failed})
			}
			b.until(2 * time.Hour)
		}
		b.ends("a", gitplan.Outcome{Answer: gitplan.Failed})
		return b.now
	}
	b.want(b.lacks(x, "a", needs(1)...), "a:1")
	fails()
	b.plan.Returned("b.example.org")
	b.want(b.after(5*time.Second), "")
	b.plan.Returned("a.example.org")
	did, d := b.until(time.Minute)
	b.want(did, "a:1")
	b.within(d, 0, 5*time.Second)
	b.ends("a", gitplan.Outcome{Answer: gitplan.Failed})
	for range 10 { // a connection that comes and goes
		b.plan.Returned("a.example.org")
		b.want(b.after(5*time.Second), "")
	}
	b.after(10 * time.Second)
	b.plan.Returned("a.example.org")
	did, d = b.until(time.Minute)
	b.want(did, "a:1")
	b.within(d, 0, 5*time.Second)
	b.ends("a", gitplan.Outcome{Answer: gitplan.Limited, Retry: 20 * time.Minute})
	b.plan.PushFailed(b.clock(), x)
	b.after(2 * time.Minute)
	b.plan.Returned("a.example.org")
	did, d = b.until(2 * time.Hour)
	b.want(did, "a:1")
	b.within(2*time.Minute+d, 20*time.Minute, 21*time.Minute)
	// It fails, and then another fetch is told to come later.
	b.lacks(repository(2, "y"), "a", needs(2)...)
	b.after(2 * time.Second)
	if len(b.under) != 2 {
		t.Fatalf("%d under way", len(b.under))
	}
	b.ends("a", gitplan.Outcome{Answer: gitplan.Failed})
	b.ends("a", gitplan.Outcome{Answer: gitplan.Limited, Retry: 20 * time.Minute})
	b.after(2 * time.Minute)
	b.plan.Returned("a.example.org")
	b.want(b.after(10*time.Minute), "")
}
