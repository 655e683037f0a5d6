package gitproc

import (
	"testing"
	"testing/synctest"
	"time"
)

// Heavy work has half of the slots, rounded up; what is light has all that is free.
func TestHeavyWorkHasHalfOfTheSlots(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 8: 4} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			q := newQueue(newSlots(n, 64, 64))
			for range n {
				q.ask(ctx, "h*")
			}
			if q.got(); q.s.running["h"] != want || q.s.free != n-want || q.s.burden != n-want {
				t.Errorf("of %d slots heavy work has %d, %d are free, %d wait", n, q.s.running["h"], q.s.free, q.s.burden)
			}
			for range n {
				q.ask(ctx, "l")
			}
			if q.got(); q.s.running["l"] != n-want {
				t.Errorf("of %d slots light work has %d", n, q.s.running["l"])
			}
			for range n { // all of them end, one after the other
				q.s.give(parse("h*"))
				q.got()
			}
		})
	}
}

// Who has light work waits for no heavy work of whomever, however many have never had a slot; and one of heavy work runs as soon as
// any waits, however much light work there is.
func TestLightWorkWaitsForNoHeavyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.s.took(parse("z"), time.Hour) // whoever it is
		q.ask(t.Context(), "a*", "b*", "c*", "d*", "x", "y*", "z")
		if got := q.got(); got != "a* x" {
			t.Fatalf("got %q", got)
		}
		q.steps(t, "x", "z", "z", "", "a*", "b*")
		q.ask(t.Context(), "z", "z", "z")
		q.steps(t, "", "z", "z", "z", "b*", "c*", "z", "z", "z", "", "c*", "d*", "d*", "y*", "y*", "")
		if q.s.free != 2 || q.s.heavy != 0 || q.s.burden != 0 || q.s.queued != 0 || len(q.s.running) != 0 {
			t.Errorf("left %+v", q.s)
		}
	})
}

// steps gives slots back, each followed by who is to have it then.
func (q *queue) steps(t *testing.T, gives ...string) {
	t.Helper()
	for i := 0; i+1 < len(gives); i += 2 {
		if gives[i] != "" {
			q.s.give(parse(gives[i]))
		}
		if got := q.got(); got != gives[i+1] {
			t.Errorf("step %d: after %q got %q, want %q", i/2, gives[i], got, gives[i+1])
		}
	}
}

// Half of the places are for heavy work: it fills no place that light work needs, and of it, too, those give way who have more.
func TestHeavyWorkWaitsInFewPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 8, 8))
		q.ask(t.Context(), "a*", "x", "b", "b*", "b*", "b*", "b*", "c*", "d*", "b*", "e", "*")
		if got := q.got(); got != "a* x b*! b*! b*!" { // c and d have one each in the place of one of b's, and b's light work stays
			t.Errorf("got %q", got)
		}
		if q.s.burden != 5 || q.s.queued != 7 || q.s.refused != 3 {
			t.Errorf("%d heavy ones and %d in all wait, %d were refused", q.s.burden, q.s.queued, q.s.refused)
		}
		q.steps(t, "x", "b", "b", "e", "a*", "c*")
	})
}

// Of parties that are alike those go first whose work is for somebody for whom least is and was done: many addresses that work for
// one owner are not many.
func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.ask(t.Context(), "a/o", "x", "b/o", "c/p", "d/o")
		if got := q.got(); got != "a/o x" {
			t.Fatalf("got %q", got)
		}
		q.steps(t, "x", "c/p", "a/o", "b/o")
		q.ask(t.Context(), "e/p", "f/r")
		q.s.took(parse("c/p"), 9*time.Second)
		q.s.took(parse("g/o"), 5*time.Second)
		q.s.took(parse("f/"), 2*time.Second) // a party's own counts first
		q.steps(t, "c/p", "e/p", "b/o", "d/o", "e/p", "f/r", "d/o", "", "f/r", "")
		q.s.took(parse("h/u"), 5*time.Second)
		q.ask(t.Context(), "x", "y", "i/u", "j/v")
		q.steps(t, "", "x y", "x", "j/v", "y", "i/u", "i/u", "", "j/v", "")
		if len(q.s.theirs) != 0 {
			t.Errorf("left %v", q.s.theirs)
		}
	})
}
