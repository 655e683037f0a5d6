package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func addAll(t testing.TB, s *store.Store, events ...*nostr.Event) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for _, e := range events {
		if out, err := b.Add(e, store.Live); err != nil || out != policy.Accept {
			t.Fatalf("add %d: %v, %v", e.Kind, out, err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// purgeStep takes one step in a batch of its own.
func purgeStep(t testing.TB, s *store.Store, max int) (more bool) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if more, err = b.Purge(max); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	return more
}

// TestPurgeInSteps: however small the steps, and whatever comes between two of them, each step is small, everything goes in
// the end, and a restart goes on where the last commit was.
func TestPurgeInSteps(t *testing.T) {
	const start = storetest.Start
	rows := 300 // of one step
	if storetest.UnderRace {
		rows = 90
	}
	most := int64(rows/5 + 1)
	mem := vfs.NewMem()
	o := store.Options{Dir: "data", FS: mem}
	s := open(t, o)
	var own, kept []*nostr.Event
	me := nostr.Tag{"p", storetest.Author(1).String()}
	for i := range int64(rows) * 3 {
		own = append(own, storetest.Event(1, start-i%500, 1, fmt.Sprint(i), nostr.Tag{"t", "x"}))
		kept = append(kept, storetest.Event(2, start-i%500, 7, fmt.Sprint(i), me)) // rows between the wraps
	}
	for i := range int64(rows) {
		own = append(own, storetest.Event(3, start-i, nostr.KindGiftWrap, fmt.Sprint(i), me))
		kept = append(kept, storetest.Event(1, start+1+i, 1, "later"))
	}
	other := []*nostr.Event{storetest.Event(4, start, 1, "another"), storetest.Event(4, start, 7, "another")}
	addAll(t, s, own...)
	addAll(t, s, kept...)
	addAll(t, s, other...)
	requests := []*nostr.Event{storetest.Vanish(1, start, ""), storetest.Vanish(4, start, "")}
	addAll(t, s, requests...)
	head, before := s.Head(), s.Stats().Events
	steps := 0
	for more := true; more; steps++ {
		more = purgeStep(t, s, rows)
		n := before - s.Stats().Events
		if n > most {
			t.Fatalf("step %d removed %d events", steps, n)
		}
		before -= n
		if steps%7 == 0 {
			between := storetest.Event(5, start-9999, 1, fmt.Sprint("between ", steps))
			addAll(t, s, between)
			kept, before = append(kept, between), before+1
		}
		switch steps % 11 {
		case 3:
			check(t, s)
		case 5:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, head = open(t, o), 0
		}
		if steps > 1000 {
			t.Fatal("it has no end")
		}
	}
	if steps < len(own)/int(most) {
		t.Errorf("only %d steps", steps)
	}
	check(t, s)
	if got, want := s.Stats().Events, int64(len(kept)+len(requests)); got != want {
		t.Errorf("%d events left, want %d", got, want)
	}
	v := s.View()
	defer v.Close()
	for _, e := range kept {
		if _, ok, err := v.Get(e.ID); err != nil || !ok {
			t.Fatalf("%d by %s has gone: %v", e.Kind, e.PubKey, err)
		}
	}
	for _, e := range append(own, other...) {
		if k, err := v.Known(e.ID); err != nil || k.State != store.Remembered || k.Why != policy.Vanished {
			t.Fatalf("%d by %s is known as %v, %v", e.Kind, e.PubKey, k, err)
		}
	}
	if more := purgeStep(t, s, rows); more || s.Head() < head {
		t.Error("there is more to do")
	}
}

// TestPurgeOfManyKinds: a step looks into a bounded number of kinds, and what was created later stays in all of them.
func TestPurgeOfManyKinds(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	var later []*nostr.Event
	for k := range nostr.Kind(100) {
		later = append(later, storetest.Event(1, storetest.Start+10, 100+k, ""))
	}
	addAll(t, s, later...)
	addAll(t, s, storetest.Event(1, storetest.Start, 65_535, "earlier"))
	addAll(t, s, storetest.Event(1, storetest.Start+5, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"}))
	steps := 1
	for purgeStep(t, s, 10) {
		steps++
	}
	if n := s.Stats().Events; n != int64(len(later))+1 {
		t.Errorf("%d events are left", n)
	}
	if steps < 10 || steps > 20 {
		t.Errorf("%d steps", steps)
	}
}

// TestPurgeTakenOver: a newer request while an older one is being acted on takes over.
func TestPurgeTakenOver(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	for i := range int64(100) {
		addAll(t, s, storetest.Event(1, storetest.Start+i, 1, ""))
	}
	addAll(t, s, storetest.Vanish(1, storetest.Start+50, ""))
	if !purgeStep(t, s, 50) {
		t.Fatal("all in one step")
	}
	last := storetest.Vanish(1, storetest.Start+90, "")
	addAll(t, s, last)
	check(t, s)
	for purgeStep(t, s, 50) {
		check(t, s)
	}
	check(t, s)
	if n := s.Stats().Events; n != 10 {
		t.Errorf("%d events left", n)
	}
}

// BenchmarkPurge removes an author with 100,000 events in steps of a size.
func BenchmarkPurge(b *testing.B) {
	for _, rows := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				s := open(b, store.Options{Dir: b.TempDir(), Floor: 1})
				repo := nostr.Tag{"a", storetest.Address(2, 30617, "x")}
				for i := 0; i < 100_000; {
					var some []*nostr.Event
					for range 500 {
						some = append(some, storetest.Event(1, storetest.Start+int64(i), 1621, "some words", repo, nostr.Tag{"p", storetest.Author(2).String()}, nostr.Tag{"subject", fmt.Sprint(i)}))
						i++
					}
					addAll(b, s, some...)
				}
				addAll(b, s, storetest.Vanish(1, storetest.Start+100_000, ""))
				b.StartTimer()
				steps, longest := 0, time.Duration(0)
				for more := true; more; steps++ {
					began := time.Now()
					more = purgeStep(b, s, rows)
					longest = max(longest, time.Since(began))
				}
				b.ReportMetric(float64(steps), "steps")
				b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
				s.Close()
			}
		})
	}
}
