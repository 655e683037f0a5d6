package refusal

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestWhatWasClosedJustNowIsClosedAgain, once, and nothing that was closed long before.
func TestWhatWasClosedJustNowIsClosedAgain(t *testing.T) {
	var c Closes
	c.Sent("early", 0)
	c.Sent("late", 5*time.Second)
	c.Sent("last", 15*time.Second)
	if got := c.Again(); len(got) != 0 {
		t.Errorf("closed again before the relay threw anything away: %v", got)
	}
	c.Unheard(15*time.Second + 1)
	if got := c.Again(); !slices.Equal(got, []string{"last"}) {
		t.Errorf("closed again: %v", got)
	}
	if got := c.Again(); len(got) != 0 {
		t.Errorf("closed once more: %v", got)
	}
	if c.Unheard(15*time.Second + 2); len(c.Again()) != 0 {
		t.Error("one NOTICE more has the same closed again")
	}
	c.Sent("edge", 20*time.Second)
	if c.Unheard(30 * time.Second); !slices.Equal(c.Again(), []string{"edge"}) {
		t.Error("what was closed ten seconds before is not closed again")
	}
}

// TestClosesAreBounded: the oldest go first.
func TestClosesAreBounded(t *testing.T) {
	var c Closes
	for i := range 3 * MostCloses {
		c.Sent(fmt.Sprint(i), time.Second)
		if sent, _ := c.Size(); sent > MostCloses {
			t.Fatalf("%d are remembered", sent)
		}
	}
	c.Unheard(time.Second)
	c.Sent("last", time.Second)
	c.Unheard(time.Second)
	if _, again := c.Size(); again != MostCloses {
		t.Errorf("%d are to be closed again", again)
	}
	if again := c.Again(); again[len(again)-1] != "last" {
		t.Errorf("the newest is forgotten: %v", again)
	}
}

// TestWhatHasEndedMayBeMeant: each NOTICE is about one request, the relay's own answer to one shows that it is about none of it, and none is awaited for long.
func TestWhatHasEndedMayBeMeant(t *testing.T) {
	var e Ended
	if e.Meant(0) {
		t.Error("nothing is meant")
	}
	for i := range 4 {
		e.Add(fmt.Sprint(i), time.Duration(i)*time.Second)
	}
	e.Answered("3")
	for _, at := range []time.Duration{4 * time.Second, 7 * time.Second} {
		if !e.Meant(at) {
			t.Errorf("at %v nothing is meant", at)
		}
	}
	if e.Meant(8 * time.Second) {
		t.Error("what the relay has answered is meant")
	}
	e.Add("late", 9*time.Second)
	if e.Meant(14*time.Second + 1) {
		t.Error("it is meant for ever")
	}
	for i := range 2 * MostCloses {
		e.Add(fmt.Sprint(i), time.Minute)
	}
	n := 0
	for e.Meant(time.Minute) {
		n++
	}
	if n != MostCloses {
		t.Errorf("%d are remembered", n)
	}
}

// TestAnEchoIsAboutNothingElse, as often as NEG-CLOSE was sent, and not for ever.
func TestAnEchoIsAboutNothingElse(t *testing.T) {
	var e Echo
	if e.Heard("", 0) {
		t.Error("an echo of nothing")
	}
	e.Expect("unknown", 0)
	e.Expect("unknown", time.Second)
	for _, c := range []struct {
		text string
		at   time.Duration
		want bool
	}{{"other", time.Second, false}, {"unknown", time.Second, true}, {"unknown", 31 * time.Second, true}, {"unknown", 31 * time.Second, false}} {
		if got := e.Heard(c.text, c.at); got != c.want {
			t.Errorf("%q after %v is an echo: %v", c.text, c.at, got)
		}
	}
	e.Expect("unknown", time.Minute)
	if e.Heard("unknown", 90*time.Second+1) {
		t.Error("an echo half a minute later")
	}
	e.Expect("other", time.Minute)
	if e.Heard("unknown", time.Minute) || !e.Heard("other", time.Minute) || e.Heard("other", time.Minute) {
		t.Error("two texts are expected at a time")
	}
}
