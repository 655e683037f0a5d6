package gitproc

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// run takes a slot and has a process that runs until it is killed, or for so long.
func (q *queue) run(t *testing.T, text string, usual, lasts time.Duration) {
	go func() {
		c := parse(text)
		if err := q.s.take(t.Context(), c); err != nil {
			q.order <- text + "!"
			return
		}
		killed := make(chan error, 1)
		ended := q.s.runs(c, usual, func(err error) { killed <- err })
		q.order <- text
		began := time.Now()
		select {
		case <-time.After(lasts):
		case <-t.Context().Done():
		case err := <-killed:
			if !errors.Is(err, ErrGaveWay) || !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			q.order <- text + " gave way"
		}
		q.s.took(c, time.Since(began))
		q.s.give(c)
		ended()
	}()
	synctest.Wait()
}

// TestOneAddressKeepsNobodyWaiting: who has more than half of the slots gives one way once another has waited for five seconds; a second one only
// when somebody waits again.
func TestOneAddressKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(4, 64, 8))
		for range 6 {
			q.run(t, "a", time.Hour, time.Hour)
		}
		q.run(t, "b", time.Hour, time.Second)
		if got := q.got(); got != "a a a a" {
			t.Fatalf("got %q", got)
		}
		time.Sleep(5 * time.Second)
		if got := q.got(); got != "a gave way b" {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Minute) // b has ended: a has its fourth slot again
		if got := q.got(); got != "a" {
			t.Errorf("got %q", got)
		}
		for range 3 {
			q.run(t, "c", time.Hour, time.Hour)
		}
		time.Sleep(time.Hour - 2*time.Minute)
		if got := q.got(); strings.Count(got, "a gave way") != 2 || strings.Count(got, "c") != 2 { // both have half of them, and are left alone for as long as is usual
			t.Errorf("got %q", got)
		}
	})
}

// TestWhatTakesLongerThanUsualGivesWay: of many addresses the work of the one that took most, when it has had its usual time.
func TestWhatTakesLongerThanUsualGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.s.took(parse("greedy"), time.Minute)
		q.run(t, "honest", 40*time.Second, 50*time.Second)
		q.run(t, "greedy", 10*time.Second, time.Hour)
		q.run(t, "", 0, time.Second) // our own work waits, and presses nobody
		q.run(t, "x", time.Hour, time.Second)
		q.got()
		time.Sleep(10 * time.Second)
		if got := q.got(); got != "" {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Second)
		if got := q.got(); got != "greedy gave way " && got != "greedy gave way x" {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Minute)
		if got := q.got(); got != "x" && got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// TestWhoTookMostWaitsForOthers: nobody gives way to one who took more, nor to their own work.
func TestWhoTookMostWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		q.s.took(parse("greedy"), time.Minute)
		q.run(t, "a", time.Second, 30*time.Second)
		q.run(t, "a", time.Second, time.Second)
		q.run(t, "greedy", time.Second, time.Second)
		time.Sleep(29 * time.Second)
		if got := q.got(); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

// TestNobodyGivesWayToUs: our own work waits for as long as others work.
func TestNobodyGivesWayToUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		q.run(t, "a", time.Second, 30*time.Second)
		q.run(t, "", time.Second, time.Second)
		time.Sleep(29 * time.Second)
		if got := q.got(); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

// TestHeavyWorkGivesWayToHeavyWork: where all slots of heavy work are taken, light work that ends is of no use to it.
func TestHeavyWorkGivesWayToHeavyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 4))
		q.s.took(parse("light"), time.Minute)
		q.run(t, "heavy*", time.Second, time.Hour)
		q.run(t, "light", time.Second, time.Hour)
		q.run(t, "x*", time.Second, time.Hour)
		time.Sleep(6 * time.Second)
		if got := q.got(); got != "heavy* light heavy* gave way x*" {
			t.Errorf("got %q", got)
		}
	})
}

// TestNobodyGivesWayToWhoWasServed: the slot may have come in the same moment in which others were to give way.
func TestNobodyGivesWayToWhoWasServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(2, 64, 8))
		for range 2 {
			q.run(t, "a", 0, time.Hour)
		}
		w := q.s.ask(parse("b"))
		time.Sleep(time.Minute)
		q.s.leave(w)
		q.s.press(w)
		synctest.Wait()
		if got := q.got(); got != "a a" {
			t.Errorf("got %q", got)
		}
	})
}

// TestWhatBeganLastGivesWay: of the party that has more than half of the slots the work that loses least gives way; but not for ever.
func TestWhatBeganLastGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(4, 64, 8))
		for _, of := range []string{"a/first", "a/second", "a/third", "b"} {
			q.run(t, of, time.Minute, time.Hour)
			time.Sleep(time.Second)
		}
		q.run(t, "c", time.Hour, time.Second)
		time.Sleep(6 * time.Second)
		if got := q.got(); got != "a/first a/second a/third b a/third gave way c" {
			t.Errorf("got %q", got)
		}
		q.run(t, "a/fourth", time.Minute, time.Hour)
		time.Sleep(10*time.Minute - 10*time.Second) // the first two have had ten times their usual time
		q.run(t, "d", time.Hour, time.Second)
		time.Sleep(6 * time.Second)
		if got := q.got(); got != "a/fourth a/first gave way d" {
			t.Errorf("got %q", got)
		}
	})
}
