package gitproc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoWaitsKeepsThePlace: the only work that waits of a party stays, whatever it took and however many come who took less.
func TestWhoWaitsKeepsThePlace(t *testing.T) {
	for _, star := range []string{"", "*"} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(newSlots(1, map[string]int{"": 2, "*": 4}[star], 4)) // of four places two are for heavy work
			q.s.took(parse("large"), time.Minute)
			q.ask(t.Context(), "x"+star, "large"+star, "a"+star, "b"+star, "c"+star)
			if got, want := q.got(), strings.ReplaceAll("x b! c!", "!", star+"!"); strings.ReplaceAll(got, "x*", "x") != want {
				t.Errorf("got %q, want %q", got, want)
			}
			q.steps(t, "x"+star, "a"+star, "a"+star, "large"+star)
		})
	}
}

// TestManyPartiesWaitForHeavyWork: a party finds a place for its heavy work beside a hundred others that have as many as they may.
func TestManyPartiesWaitForHeavyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := newQueue(newSlots(4, usualPlaces, 4))
		q.order = make(chan string, 1000)
		q.s.took(parse("large"), time.Minute)
		for i := range 100 {
			for range 4 {
				q.ask(ctx, fmt.Sprint("a", i, "*"))
			}
		}
		q.got()
		q.ask(ctx, "large*")
		if n := len(q.s.waiting["large"]); n != 1 {
			t.Errorf("%d wait, of %d", n, q.s.queued)
		}
		cancel()
	})
}

// TestWhoWaitsLongIsServed: parties that took nothing come all the time, and who took much is served after five seconds all the same; a
// newcomer waits for no more than one of those who wait long.
func TestWhoWaitsLongIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		q.s.took(parse("large"), time.Minute)
		q.s.took(parse("larger"), time.Hour)
		q.ask(t.Context(), "0", "larger", "large")
		var got []string
		for i := range 12 {
			q.ask(t.Context(), fmt.Sprint(i+1))
			time.Sleep(time.Second)
			got = append(got, q.got())
			q.s.give(parse(got[i]))
		}
		larger, large := slices.Index(got, "larger"), slices.Index(got, "large")
		if larger < 5 || larger > 7 || large != larger+2 {
			t.Errorf("got %q", got)
		}
	})
}

// TestLightWorkTakesNoTurnOfHeavyWork: although light work gets every second slot of all.
func TestLightWorkTakesNoTurnOfHeavyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.s.took(parse("large"), time.Minute)
		q.ask(t.Context(), "h0*", "l0", "large*")
		q.got()
		for i := range 12 {
			q.ask(t.Context(), fmt.Sprint("h", i+1, "*"), fmt.Sprint("l", i+1))
			time.Sleep(time.Second)
			q.s.give(parse(fmt.Sprint("h", i, "*")))
			if q.got() == "large*" {
				if i > 7 {
					t.Errorf("after %d seconds", i)
				}
				return
			}
			q.steps(t, fmt.Sprint("l", i), fmt.Sprint("l", i+1))
		}
		t.Error("never")
	})
}

// TestWhoHasASlotDoesNotWaitLong: a party with much work is not served for its age before those who have nothing.
func TestWhoHasASlotDoesNotWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.ask(t.Context(), "a", "x", "a", "a")
		q.got()
		time.Sleep(10 * time.Second)
		q.ask(t.Context(), "b", "c")
		q.steps(t, "x", "b", "b", "c")
	})
}
