package gitproc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// queue lets parties ask for slots, one after the other, and tells in which order they got them.
type queue struct {
	s     *slots
	order chan string
}

func newQueue(s *slots) *queue { return &queue{s, make(chan string, 100)} }

func (q *queue) ask(ctx context.Context, parties ...string) {
	for _, p := range parties {
		go func() {
			if err := q.s.take(ctx, parse(p)); err != nil {
				q.order <- p + "!"
				return
			}
			q.order <- p
		}()
		synctest.Wait()
	}
}

// parse is work written such as "party*/owner", where a star says that the work is heavy, and a tilde that it is long.
func parse(text string) (c work) {
	c.party, c.owner, _ = strings.Cut(text, "/")
	c.party, c.heavy = strings.CutSuffix(c.party, "*")
	c.party, c.long = strings.CutSuffix(c.party, "~")
	return c
}

func (q *queue) got() string {
	synctest.Wait()
	var all []string
	for len(q.order) > 0 {
		all = append(all, <-q.order)
	}
	return strings.Join(all, " ")
}

func TestSlotsGoInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		q.ask(t.Context(), "a", "a", "a", "b", "b", "c")
		for _, want := range []string{"a", "a", "b", "c", "a", "b", ""} {
			if got := q.got(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if want != "" {
				q.s.give(parse(want))
			}
		}
		if q.s.free != 1 || q.s.queued != 0 || len(q.s.running)+len(q.s.waiting)+len(q.s.turn) != 0 {
			t.Errorf("left %+v", q.s)
		}
	})
}

func TestWhoHasFewestSlotsGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(3, 64, 4))
		q.ask(t.Context(), "a", "a", "b", "a", "a", "b", "c")
		if got := q.got(); got != "a a b" {
			t.Fatalf("got %q", got)
		}
		q.s.give(parse("a")) // a has 1, b 1, c none
		if got := q.got(); got != "c" {
			t.Errorf("got %q", got)
		}
		q.s.give(parse("c"))
		if got := q.got(); got != "a" { // who waits longer, of those with one each
			t.Errorf("got %q", got)
		}
		q.s.give(parse("a"))
		if got := q.got(); got != "b" {
			t.Errorf("got %q", got)
		}
	})
}

func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 3, 2))
		ctx, cancel := context.WithCancel(t.Context())
		q.ask(ctx, "a", "a", "a", "a", "b", "b", "c", "", "", "")
		if got := q.got(); got != "a a! b! a!" { // one of a makes room for c, and one of b waits as well
			t.Errorf("got %q", got)
		}
		if err := q.s.take(t.Context(), parse("d")); !errors.Is(err, ErrBusy) { // everybody has one now
			t.Error(err)
		}
		if q.s.refused != 4 || q.s.queued != 6 {
			t.Errorf("%d refused, %d wait", q.s.refused, q.s.queued)
		}
		cancel() // all others leave
		if got := q.got(); strings.Count(got, "!") != 6 || q.s.queued != 0 {
			t.Errorf("got %q, %d wait", got, q.s.queued)
		}

		q = newQueue(newSlots(1, 64, 2)) // with places for all
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		q.ask(ctx, "a", "a", "a", "a", "b", "b", "b")
		if got := q.got(); got != "a a! b!" {
			t.Errorf("got %q", got)
		}
		cancel()
		synctest.Wait()
	})
}

// TestFetchedPacksFindAPlace: work on what other servers have sent waits for git however much waits already, as it would have to be fetched again, and
// makes no room for others.
func TestFetchedPacksFindAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 4, 2))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := OtherServers
		q.ask(ctx, o, o, o, o, o, o, o, o)
		if got := q.got(); got != o {
			t.Fatalf("got %q", got)
		}
		q.ask(ctx, "a")
		if got := q.got(); got != "a!" { // no place is left, and none is made
			t.Errorf("got %q", got)
		}
		if q.s.refused != 1 || q.s.queued != 7 {
			t.Errorf("%d refused, %d wait", q.s.refused, q.s.queued)
		}
		cancel()
		synctest.Wait()
	})
}

// Of those who have as many slots who took less of the processor lately goes first, and nobody has the only place of another.
func TestWhoTookLeastGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 3, 4))
		q.s.took(parse("a"), 8*time.Second)
		q.s.took(parse("b"), 2*time.Second)
		q.s.took(parse("c"), 900*time.Millisecond)
		q.s.took(parse(""), time.Hour) // our own pays for nothing
		q.ask(t.Context(), "x", "a", "b", "c", "d", "a", "")
		if got := q.got(); got != "x d! a!" {
			t.Errorf("got %q", got)
		}
		for _, want := range []string{"c", "", "b", "a"} {
			q.s.give(parse("x"))
			if got := q.got(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			q.s.running["x"] = 1
		}
		time.Sleep(3 * time.Minute) // it counts for one second now
		q.ask(t.Context(), "a", "b")
		q.s.took(parse("b"), 2*time.Second)
		q.s.give(parse("x"))
		if got := q.got(); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

// Who takes only what is free neither waits nor counts among those who do, and hands on what they had.
func TestAtOnceOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		if err := q.s.takeFree(t.Context(), parse("a")); err != nil {
			t.Fatal(err)
		}
		q.ask(t.Context(), "b")
		for _, party := range []string{"a", "c", ""} {
			if err := q.s.takeFree(t.Context(), parse(party)); !errors.Is(err, ErrBusy) {
				t.Errorf("%q: %v", party, err)
			}
		}
		if got := q.got(); got != "" || q.s.queued != 1 || q.s.refused != 0 {
			t.Errorf("%q, %d wait, %d refused", got, q.s.queued, q.s.refused)
		}
		q.s.give(parse("a"))
		if got := q.got(); got != "b" || len(q.s.running) != 1 {
			t.Errorf("%q, %v", got, q.s.running)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("left")
		cancel(cause)
		q.s.give(parse("b"))
		if err := q.s.takeFree(ctx, parse("a")); !errors.Is(err, cause) || q.s.free != 1 {
			t.Errorf("%v, %d are free", err, q.s.free)
		}
	})
}

func TestNobodyWaitsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 64, 4)
		s.most = time.Minute
		q := newQueue(s)
		q.ask(t.Context(), "a", "b", "")
		q.got()
		time.Sleep(59 * time.Second)
		if got := q.got(); got != "" {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Second)
		if got := q.got(); got != "b!" || s.refused != 1 {
			t.Errorf("got %q, %d refused", got, s.refused)
		}
		if err := s.take(t.Context(), parse("b")); !errors.Is(err, ErrBusy) || s.refused != 2 {
			t.Errorf("%v, %d refused", err, s.refused)
		}
		q.s.give(parse("a"))
		if got := q.got(); got != "" || s.queued != 0 { // our own, which shows as nothing
			t.Errorf("got %q, %d wait", got, s.queued)
		}
		if err := s.take(t.Context(), parse("c")); !errors.Is(err, ErrBusy) {
			t.Errorf("our own has its slot, and c: %v", err)
		}
	})
}

func TestWhoLeavesWaitsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(newSlots(1, 64, 4))
		gone, leave := context.WithCancel(t.Context())
		q.ask(t.Context(), "a")
		q.ask(gone, "b")
		q.ask(t.Context(), "c", "b")
		if got := q.got(); got != "a" {
			t.Fatalf("got %q", got)
		}
		leave()
		if got := q.got(); got != "b!" {
			t.Errorf("got %q", got)
		}
		q.s.give(parse("a"))
		if got := q.got(); got != "b" { // the other of b, in the turn that b has
			t.Errorf("got %q", got)
		}
		q.s.give(parse("b"))
		if got := q.got(); got != "c" {
			t.Errorf("got %q", got)
		}
		q.s.give(parse("c"))
		if err := q.s.take(gone, parse("b")); !errors.Is(err, context.Canceled) || q.s.free != 1 {
			t.Errorf("%v, %d free", err, q.s.free)
		}
	})
}

// A slot that is granted to somebody who leaves at the same moment goes to the next.
func TestASlotIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			s := newSlots(1, 64, 4)
			if err := s.take(t.Context(), parse("a")); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			took := make(chan error)
			go func() { took <- s.take(ctx, parse("b")) }()
			synctest.Wait()
			cancel()
			s.give(parse("a")) // mostly before b has seen that
			if err := <-took; err == nil {
				s.give(parse("b"))
			}
			if s.free != 1 || len(s.running) != 0 {
				t.Fatalf("%d free, %v", s.free, s.running)
			}
		}
	})
}

// TestASlotIsKeptForOthers: one party may fill all slots, and the one beside them is for light work of each that has none.
func TestASlotIsKeptForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2, 64, 8)
		s.keepOne()
		q := newQueue(s)
		q.ask(t.Context(), "a*", "a", "a", "a*", "b*", "c", "d")
		if got := q.got(); got != "a* a c" {
			t.Fatalf("got %q", got)
		}
		q.steps(t, "c", "d", "d", "", "a", "a", "a*", "b*")
		if err := s.takeFree(t.Context(), parse("a")); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
	})
}

// Long work of many parties, and parties that took much, leave the slot that is kept to short work of who took little.
func TestTheKeptSlotIsForWhoHasLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2, 64, 8)
		s.keepOne()
		s.took(work{party: "much"}, keptTaken*time.Second)
		s.took(work{party: "little"}, keptTaken*time.Second-time.Millisecond)
		q := newQueue(s)
		q.ask(t.Context(), "a~", "b~", "c~", "d~", "much", "little")
		if got := q.got(); got != "a~ b~ little" {
			t.Fatalf("got %q", got)
		}
		s.give(parse("little"))
		q.ask(t.Context(), "new", "newer")
		if got := q.got(); got != "new" {
			t.Fatalf("got %q", got)
		}
		s.give(parse("a~"))
		if got := q.got(); got == "" {
			t.Fatal("the other slots are for nobody")
		}
	})
}

// TestTheKeptSlotIsForOwnersOfWhomLittleRuns: many addresses whose work is about one repository leave it to work about others, and so do those whose work
// is about one that took much.
func TestTheKeptSlotIsForOwnersOfWhomLittleRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2, 64, 8)
		s.keepOne()
		s.took(work{party: "x", owner: "much"}, keptTaken*time.Second)
		q := newQueue(s)
		q.ask(t.Context(), "a/o", "b/o", "c/o", "d/much", "e/p")
		if got := q.got(); got != "a/o b/o e/p" {
			t.Fatalf("got %q", got)
		}
		q.steps(t, "e/p", "", "a/o", "d/much", "b/o", "c/o")
	})
}

// Who leaves in the moment in which another gets their place gives no slot back, as they had none.
func TestWhoIsSentAwayGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			s := newSlots(1, 2, 2)
			q := newQueue(s)
			ctx, cancel := context.WithCancel(t.Context())
			q.ask(ctx, "x", "a", "a")
			cancel()
			w := s.ask(parse("b")) // before a has seen that
			if synctest.Wait(); s.free != 0 || len(s.running) != 1 || s.running["x"] != 1 {
				t.Fatalf("%d free, %v", s.free, s.running)
			}
			s.leave(w)
		}
	})
}
