package gitplan_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
)

// through says whether the search for a repository's data is through.
func (b *bench) through(want bool, when string) {
	b.Helper()
	if got := b.plan.Through(b.clock())[repository(1, "x")]; got != want {
		b.Errorf("%s: through %v", when, got)
	}
}

// A search is through when every source has answered in order, and none has what is lacking.
func TestWhenASearchIsThrough(t *testing.T) {
	for _, answer := range []gitplan.Answer{gitplan.Answered, gitplan.Absent, gitplan.TooMuch, gitplan.Failed, gitplan.Limited, gitplan.Ours} {
		b := newBench(t, gitplan.Config{})
		b.lacks(repository(1, "x"), "a c", needs(1)...)
		b.through(false, "while the first is asked")
		b.ends("a", gitplan.Outcome{Answer: gitplan.Absent})
		b.through(false, "while the second is to be asked")
		b.ends("c", gitplan.Outcome{Answer: answer})
		inOrder := answer != gitplan.Failed && answer != gitplan.Limited && answer != gitplan.Ours
		b.through(inOrder, "after all have answered")
		b.lacks(repository(1, "x"), "a c", needs(1, 2)...)
		b.through(false, "with something new")
	}
}

func TestASearchIsNotThroughBeforeItIsDue(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.lacks(repository(1, "x"), "a", gitplan.Need{Event: event(1)}, gitplan.Need{Event: event(2), After: time.Minute})
	b.ends("a", gitplan.Outcome{Answer: gitplan.Absent})
	b.through(false, "before a push has had its time")
}

// Where nobody is named who may have it, there is nobody to ask.
func TestASearchWithoutSourcesIsThrough(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.lacks(repository(1, "x"), "", needs(1)...)
	b.through(true, "without a source")
}

// While a source is asked again, the search is not through, as the source may have the data by now.
func TestASearchThatGoesOn(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.lacks(repository(1, "x"), "a", needs(1)...)
	b.ends("a", gitplan.Outcome{Answer: gitplan.Absent})
	b.through(true, "after the first round")
	if did, _ := b.until(time.Minute); did == "" {
		t.Fatal("nobody is asked again")
	}
	b.through(false, "while it is asked again")
	b.ends("a", gitplan.Outcome{Answer: gitplan.Failed})
	b.through(false, "after it has failed")
}

// A URL that leads to no git server has nothing to wait for.
func TestASearchDoesNotWaitForWhatIsNoServer(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.lacks(repository(1, "x"), "a", needs(1)...)
	b.ends("a", gitplan.Outcome{Answer: gitplan.Failed, Useless: true})
	b.through(true, "after a web page")
}

// A server that is left alone for a while has not been asked.
func TestASearchIsNotThroughWhileAServerRests(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.lacks(repository(2, "y"), "c", needs(7)...)
	b.ends("c", gitplan.Outcome{Answer: gitplan.Limited, Retry: time.Hour})
	b.lacks(repository(1, "x"), "a c", needs(1)...)
	b.ends("a", gitplan.Outcome{Answer: gitplan.Absent})
	b.through(false, "while the other one rests")
}
