package bisect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/want"
)

// check looks for suspects in no set or in several, and for refused items that are no suspects.
func (s *Suspicion) check() error {
	in := make(map[want.Item]int)
	for _, x := range append(slices.Clone(s.sets), s.tried, s.accused) {
		if x == nil || x.doubtOnly {
			continue
		}
		for _, it := range x.items {
			if in[it]++; in[it] > 1 {
				return fmt.Errorf("item %d is in two sets", it)
			}
		}
	}
	for _, it := range s.All() {
		if in[it] == 0 {
			return fmt.Errorf("suspect %d is in no set", it)
		}
		if s.Doubts(it) {
			return fmt.Errorf("suspect %d is doubted besides", it)
		}
	}
	for it := range s.refused.Above(0) {
		if !s.Has(it) {
			return fmt.Errorf("item %d is refused and no suspect", it)
		}
	}
	return nil
}

// relay refuses trials of some items.
type relay struct {
	t       *testing.T
	s       Suspicion
	now     time.Duration
	refuses map[want.Item]bool
	trials  int
	cleared []want.Item
}

// trial lets the next trial happen, as soon as it is due and before until, and reports whether there was one.
func (r *relay) trial(until time.Duration) bool {
	r.t.Helper()
	for !r.s.Begin(r.now) {
		next := r.s.Wake(r.now)
		if next <= r.now {
			r.t.Fatalf("a trial is due at %v, %v is past that, and none begins", next, r.now)
		}
		if next >= until {
			return false
		}
		r.now = next
	}
	r.trials++
	return true
}

// answer gives the answer of the relay to the trial under way.
func (r *relay) answer() {
	f := Finding{}
	if slices.ContainsFunc(r.s.Tried(), func(it want.Item) bool { return r.refuses[it] }) {
		f = r.s.Failed(r.now, false)
	} else {
		f = r.s.Answered(r.now)
	}
	r.cleared = append(r.cleared, f.Cleared...)
	if err := r.s.check(); err != nil {
		r.t.Fatal(err)
	}
}

func items(from, to want.Item) (out []want.Item) {
	for it := from; it < to; it++ {
		out = append(out, it)
	}
	return out
}

// What the relay refuses is found among many, the rest is cleared, and few trials do it.
func TestHalving(t *testing.T) {
	r := relay{t: t, refuses: map[want.Item]bool{3: true, 70: true}}
	r.s.Suspect([][]want.Item{items(0, 64), items(64, 128)}, false)
	for r.trial(30 * time.Minute) {
		r.answer()
	}
	if r.s.Refused() != 2 || !r.s.Refuses(3) || !r.s.Refuses(70) || r.s.Len() != 2 {
		t.Errorf("refused %d, suspects %v", r.s.Refused(), r.s.All())
	}
	slices.Sort(r.cleared)
	want := slices.DeleteFunc(items(0, 128), func(it want.Item) bool { return r.refuses[it] })
	if !slices.Equal(r.cleared, want) {
		t.Errorf("cleared %v", r.cleared)
	}
	// For each of two: seven refused sets, whose other halves are cleared, three refusals and more of it alone; each refusal has a harmless trial.
	if r.trials > 2*(7*3+3*2+8) {
		t.Errorf("%d trials", r.trials)
	}
}

// A doubted item is no suspect before a trial with it fails; the end of the connection ends the doubt.
func TestDoubt(t *testing.T) {
	r := relay{t: t, refuses: map[want.Item]bool{5: true}}
	r.s.Doubt([][]want.Item{items(4, 6)})
	if !r.s.Doubts(5) || r.s.Has(5) || !r.trial(time.Hour) || r.s.Has(5) {
		t.Fatal("the item is a suspect at once")
	}
	r.s.Dropped()
	r.s.Lost(r.now, false)
	if r.s.Doubts(5) || r.trial(time.Hour) {
		t.Fatal("the doubt outlives the connection")
	}
	r.s.Doubt([][]want.Item{items(4, 6)})
	r.trial(time.Hour)
	r.answer()                                                   // refused
	if !r.trial(time.Hour) || r.s.Tried() != nil || r.s.Has(5) { // the harmless one comes first
		t.Fatal("one refusal makes suspects")
	}
	f := r.s.Answered(r.now)
	if !slices.Equal(f.Suspected, items(4, 6)) || !r.s.Has(5) || r.s.Doubts(5) {
		t.Errorf("accused %v", f.Suspected)
	}
	for r.trial(r.now + 10*time.Minute) {
		r.answer()
	}
	if !r.s.Refuses(5) || r.s.Has(4) {
		t.Errorf("suspects %v", r.s.All())
	}
}

// A doubted item that the relay bears is doubted no more: it can be doubted again, on another connection.
func TestDoubtIsOver(t *testing.T) {
	var s Suspicion
	s.Doubt([][]want.Item{items(1, 3)})
	s.Begin(0)
	if f := s.Answered(0); !slices.Equal(f.Accepted, items(1, 3)) || f.Cleared != nil || s.Doubts(1) || s.Doubts(2) {
		t.Errorf("found %v, doubted %v", f, s.Doubts(1))
	}
}

// An item that is wanted no more is tried no more, alone or with others.
func TestDrop(t *testing.T) {
	var s Suspicion
	s.Suspect([][]want.Item{items(0, 2), items(2, 3)}, false)
	s.Drop(0)
	s.Drop(2)
	if !s.Begin(0) || !slices.Equal(s.Tried(), items(1, 2)) {
		t.Errorf("tried %v", s.Tried())
	}
	if s.Answered(0); s.Begin(0) || s.Wake(0) != backoff.Never {
		t.Errorf("tried %v", s.Tried())
	}
}

// A doubted set whose trial failed just before the connection ended is not held against anybody.
func TestDoubtThatIsSuspected(t *testing.T) {
	var s Suspicion
	s.Doubt([][]want.Item{items(1, 3)})
	s.Begin(0)
	s.Failed(0, false)
	s.Lost(time.Second, false)
	if s.Begin(time.Minute) || s.Wake(time.Minute) != backoff.Never {
		t.Error("there is something to try")
	}
}

// A relay that answers nothing convicts nobody, and is tried less and less.
func TestSilence(t *testing.T) {
	r := relay{t: t}
	r.s.Suspect([][]want.Item{items(0, 8)}, false)
	at := []time.Duration{}
	for r.trial(6 * time.Hour) {
		at = append(at, r.now)
		r.s.Failed(r.now, false)
	}
	if r.s.Refused() > 0 || r.s.Len() != 8 || r.s.Silent() < 6 {
		t.Errorf("refused %d of %d after %d silent trials", r.s.Refused(), r.s.Len(), r.s.Silent())
	}
	if len(at) < 10 || len(at) > 32 || at[len(at)-1]-at[len(at)-3] < time.Hour {
		t.Errorf("trials at %v", at)
	}
}

func TestOutcomes(t *testing.T) {
	begun := func(parts ...[]want.Item) *Suspicion {
		s := new(Suspicion)
		s.Suspect(parts, false)
		if !s.Begin(0) {
			t.Fatal("no trial is due")
		}
		return s
	}
	for _, x := range []struct {
		name string
		do   func(s *Suspicion) Finding
		wake time.Duration // of the next trial
		has  int           // suspects after it
		tell string        // of the finding
	}{
		{"a value is named", func(s *Suspicion) Finding { return s.Failed(0, true) }, backoff.Never, 1, "{[] [] [] [7]}"},
		{"refused for no known reason", func(s *Suspicion) Finding { return s.Failed(0, false) }, pace, 1, "{[] [] [] []}"},
		{"too large, and as small as can be", func(s *Suspicion) Finding { return s.TooLarge(0) }, backoff.Never, 0, "{[7] [7] [] []}"},
		{"an answer", func(s *Suspicion) Finding { return s.Answered(0) }, backoff.Never, 0, "{[7] [7] [] []}"},
		{"AUTH", func(s *Suspicion) Finding { s.Barred(0, time.Second); return Finding{} }, time.Second, 1, "{[] [] [] []}"},
		{"restricted", func(s *Suspicion) Finding { s.PutOff(0, time.Hour); return Finding{} }, time.Hour, 1, "{[] [] [] []}"},
		{"crowded", func(s *Suspicion) Finding { s.InVain(0); return Finding{} }, time.Minute, 1, "{[] [] [] []}"},
		{"lost", func(s *Suspicion) Finding { return s.Lost(0, false) }, backoff.Never, 1, "{[] [] [] []}"},
		{"hung up", func(s *Suspicion) Finding { return s.Lost(0, true) }, time.Minute, 1, "{[] [] [] []}"},
	} {
		s := begun(items(7, 8))
		f := x.do(s)
		if got := fmt.Sprint(f); got != x.tell || s.Len() != x.has {
			t.Errorf("%s: found %s, %d suspects", x.name, got, s.Len())
		}
		if w := s.Wake(0); w != x.wake {
			t.Errorf("%s: the next trial is at %v", x.name, w)
		}
		if s.Tried() != nil {
			t.Errorf("%s: the trial goes on", x.name)
		}
	}
	s := begun(items(0, 4))
	if f := s.TooLarge(0); f.Accepted != nil || len(s.sets) != 2 || s.Len() != 4 {
		t.Errorf("too large: found %v, sets %d", f, len(s.sets))
	}
}

// Halves of a set are tried before others, and odd sets last.
func TestOrder(t *testing.T) {
	var s Suspicion
	s.Suspect([][]want.Item{items(0, 1)}, true)
	s.Suspect([][]want.Item{items(1, 5), items(5, 6)}, false)
	var order [][]want.Item
	for now := time.Duration(0); s.Begin(now); now += pace {
		tried := slices.Clone(s.Tried())
		order = append(order, tried)
		if len(tried) == 4 {
			s.Failed(now, true)
		} else {
			s.Answered(now)
		}
	}
	if got := fmt.Sprint(order); got != "[[1 2 3 4] [1 2] [3 4] [5] [0]]" {
		t.Error(got)
	}
}

// What the relay is taken to refuse is tried again: what it named in a full resync, what it hung up for then only, other items at any.
func TestAgain(t *testing.T) {
	var s Suspicion
	s.Suspect([][]want.Item{items(0, 1)}, false)
	s.Begin(0)
	s.Failed(0, true)
	s.Again(false)
	if s.Refused() > 0 || !s.Begin(1) {
		t.Fatal("what was refused is not tried again")
	}
	s.Lost(1, true)
	s.Begin(time.Hour)
	s.Lost(time.Hour, true)
	if !s.Refuses(0) {
		t.Fatal("a relay that hangs up twice does not count as one that refuses")
	}
	if s.Again(false); s.Refused() == 0 || s.Begin(time.Hour+1) {
		t.Fatal("what the relay hangs up for is tried with each connection")
	}
	if s.Again(true); s.Refused() > 0 || !s.Begin(time.Hour+1) {
		t.Fatal("what the relay hangs up for is never tried again")
	}
}

// An item that the relay bears after all counts as refused no more.
func TestAcceptedAfterAll(t *testing.T) {
	var s Suspicion
	s.Suspect([][]want.Item{items(0, 1)}, false)
	now := time.Duration(0)
	for s.Refused() == 0 {
		if !s.Begin(now) {
			t.Fatal("no trial is due")
		}
		if s.Tried() == nil {
			s.Answered(now)
		} else {
			s.Failed(now, false)
		}
		now += time.Hour
	}
	for s.Begin(now) && s.Tried() == nil {
		s.Answered(now)
		now += time.Hour
	}
	if s.Answered(now); s.Refused() > 0 || s.Len() > 0 {
		t.Errorf("refused %d of %d", s.Refused(), s.Len())
	}
}

// TestRetrials: of many items that the relay refuses, one in a minute is tried again.
func TestRetrials(t *testing.T) {
	r := relay{t: t, refuses: map[want.Item]bool{}}
	for it := range want.Item(50) {
		r.refuses[it] = true
		r.s.Suspect([][]want.Item{{it}}, false)
	}
	for r.s.Refused() < 50 && r.trial(24*time.Hour) {
		r.answer()
	}
	begun, before := r.now, r.trials
	for r.trial(begun + time.Hour) {
		r.answer()
	}
	if n := r.trials - before; n < 60 || n > 2*61 {
		t.Errorf("%d trials in an hour, a harmless one after each", n)
	}
}

// Random lives: whatever happens in between, once a relay answers as it does, exactly what it refuses is under suspicion.
func TestLives(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := relay{t: t, refuses: map[want.Item]bool{}}
		for range rnd.IntN(4) {
			r.refuses[want.Item(rnd.IntN(40))] = true
		}
		gone := map[want.Item]bool{}
		for at := want.Item(0); at < 40; {
			n := min(40-at, 1+want.Item(rnd.IntN(12)))
			r.s.Suspect([][]want.Item{items(at, at+n)}, rnd.IntN(3) == 0)
			at += n
		}
		for range 40 {
			if !r.trial(r.now + time.Hour) {
				break
			}
			switch rnd.IntN(9) {
			case 0:
				r.s.Dropped()
			case 1:
				r.s.InVain(r.now)
			case 2:
				r.s.Barred(r.now, r.now+time.Second)
			case 3:
				r.s.Lost(r.now, rnd.IntN(2) == 0)
			case 4:
				it := want.Item(rnd.IntN(40))
				gone[it] = true
				r.s.Drop(it)
				r.answer()
			default:
				r.answer()
			}
			if err := r.s.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		r.s.Again(true)
		for end := r.now + 48*time.Hour; r.trial(end); {
			r.answer()
		}
		for it := range want.Item(40) {
			if should := r.refuses[it] && !gone[it]; r.s.Has(it) != should || r.s.Refuses(it) != should {
				t.Fatalf("seed %d: item %d: suspect %v, refused %v, and the relay refuses it: %v", seed, it, r.s.Has(it), r.s.Refuses(it), should)
			}
		}
	}
}
