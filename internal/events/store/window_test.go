package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// filled is a store with events of ascending time that were stored in another order, each with a text of the size that it has.
func filled(t *testing.T, sizes []int, kind func(n int) nostr.Kind) (*store.Store, []*nostr.Event) {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	events := make([]*nostr.Event, len(sizes))
	for n, size := range sizes {
		events[n] = storetest.Event(byte(n%20), storetest.Start+int64(n), kind(n), strings.Repeat("x", size), nostr.Tag{"t", "x"})
	}
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := range events {
		if out, err := b.Add(events[n*7%len(events)], store.Live); err != nil || out != policy.Accept {
			t.Fatal(out, err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	return s, events
}

// TestAnAnswerThatIsReadTogether: events that are read ahead come in the order of the answer, each with its own bytes, also
// where they are too large for that; the reader may stop anywhere.
func TestAnAnswerThatIsReadTogether(t *testing.T) {
	sizes := make([]int, 150)
	for n := range sizes {
		sizes[n] = []int{10, 500, 60_000}[n%3] + n
	}
	s, events := filled(t, sizes, func(int) nostr.Kind { return 1621 })
	v := s.View()
	defer v.Close()
	ids := nostr.Filter{IDs: []nostr.ID{{1}}}
	for _, e := range events {
		ids.IDs = append(ids.IDs, e.ID)
	}
	for name, f := range map[string]nostr.Filter{
		"all": {}, "by tag": {Tags: []nostr.TagFilter{{Name: 't', Values: []string{"x", "y"}}}}, "by id": ids,
	} {
		for _, stop := range []int{1, 2, 8, 9, 10, 24, 25, 31, 57, 150} {
			for _, limited := range []bool{false, true} {
				if f.Limit = nil; limited {
					f.Limit = &stop
				}
				n := 0
				for row, err := range v.Query(t.Context(), f) {
					if err != nil {
						t.Fatal(err)
					}
					want := events[len(events)-1-n]
					if e, err := row.Event(); err != nil || row.ID != want.ID || e.ID != want.ID || string(row.JSON) != string(want.AppendJSON(nil)) {
						t.Fatalf("%s: row %d of %d is not %v", name, n, stop, want.ID)
					}
					if n++; n == stop && !limited {
						break
					}
				}
				if n != stop {
					t.Errorf("%s: %d rows, want %d", name, n, stop)
				}
			}
		}
	}
}

// unlikely is a kind among many that no event here has, too many to be looked up.
func unlikely(kind nostr.Kind) []nostr.Kind {
	kinds := []nostr.Kind{kind}
	for n := range 599 {
		kinds = append(kinds, nostr.Kind(1000+n))
	}
	return kinds
}

// TestWhatIsFoundIsYieldedBeforeTheMeterIsTold: a meter may wait, so nothing that was found waits with it.
func TestWhatIsFoundIsYieldedBeforeTheMeterIsTold(t *testing.T) {
	s, _ := filled(t, make([]int, 2000), func(n int) nostr.Kind {
		if n%50 == 0 {
			return 1621
		}
		return 1622
	})
	v := s.View()
	defer v.Close()
	found, told, late := 0, 0, 0
	metered := v.Metered(func(steps int) error {
		told += steps
		// One row in fifty matches. Besides rows there are the events, and some places in the index.
		if rows := told - 4*found - 40; found < min(40, rows/50) {
			late++
		}
		return nil
	})
	for _, err := range metered.Query(t.Context(), nostr.Filter{Kinds: unlikely(1621), Tags: []nostr.TagFilter{{Name: 't', Values: []string{"x"}}}}) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if late > 0 || found != 40 || told < 100 {
		t.Errorf("%d found, %d steps, late %d times", found, told, late)
	}
	// The end of a query is told, too, behind all rows.
	last := -1
	found = 0
	metered = v.Metered(func(int) error { last = found; return nil })
	for range metered.Query(t.Context(), nostr.Filter{Kinds: []nostr.Kind{1621}}) {
		found++
	}
	if last != 40 {
		t.Errorf("when the meter was told last, %d of 40 were there", last)
	}
}

// TestAQueryThatEndsEarly: a reader of a metered answer may stop anywhere, and pays for what was read; neither that nor a query
// that is given up leaves anything behind for the next one.
func TestAQueryThatEndsEarly(t *testing.T) {
	s, all := filled(t, make([]int, 900), func(n int) nostr.Kind { return nostr.Kind(1621 + n%5) })
	var events []*nostr.Event
	for _, e := range all {
		if e.Kind == 1621 {
			events = append(events, e)
		}
	}
	// Every fifth row matches, and the meter is told while some wait.
	f := nostr.Filter{Kinds: unlikely(1621), Tags: []nostr.TagFilter{{Name: 't', Values: []string{"x"}}}}
	v := s.View()
	defer v.Close()
	for stop := 1; stop < len(events); stop += 3 {
		ctx, cancel := context.WithCancel(t.Context())
		n, told := 0, 0
		for _, err := range v.Metered(func(steps int) error { told += steps; return nil }).Query(ctx, f) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stop {
				break
			}
		}
		if told < 9*stop-5 { // five rows and an event each
			t.Errorf("%d steps for %d events", told, stop)
		}
		n = 0
		for _, err := range v.Query(ctx, f) {
			if err != nil {
				break
			}
			if n++; n == stop {
				cancel()
			}
		}
		cancel()
		n = 0
		for row, err := range v.Query(t.Context(), f) {
			if err != nil || row.ID != events[len(events)-1-n].ID {
				t.Fatalf("row %d after one that ended at %d: %v", n, stop, err)
			}
			n++
		}
		if n != len(events) {
			t.Fatalf("%d rows after one that ended at %d", n, stop)
		}
	}
}

// TestLargeEventsAreReadByThemselves: an answer or a page of the feed holds no large event beside others in memory, and each is paid for
// by its size.
func TestLargeEventsAreReadByThemselves(t *testing.T) {
	sizes := make([]int, 20)
	for n := range sizes {
		sizes[n] = []int{10, 1_500_000}[n%2]
	}
	s, events := filled(t, sizes, func(int) nostr.Kind { return 1621 })
	told := 0
	v := s.View().Metered(func(steps int) error { told += steps; return nil })
	defer v.Close()
	n := 0
	for row, err := range v.Query(t.Context(), nostr.Filter{}) {
		if err != nil || row.ID != events[len(events)-1-n].ID {
			t.Fatal(row.ID, err)
		}
		if n++; len(row.JSON) < 1000 && cap(row.JSON) > 600<<10 {
			t.Errorf("row %d stands in %d bytes", n, cap(row.JSON))
		}
	}
	if want := 10 * 1_500_000 / 512; n != 20 || told < want || told > want+500 {
		t.Errorf("%d rows took %d steps, want some more than %d", n, told, want)
	}
	entries, _, err := s.Since(0, 100) // the newest are kept in memory
	for after := store.Seq(0); err == nil && len(entries) > 0 && after < 5; entries, _, err = s.Since(after, 100) {
		large := 0
		for _, e := range entries {
			if after = e.Seq; e.Event.Size() > 1_000_000 {
				large++
			}
		}
		if large > 1 {
			t.Errorf("%d large events in a page up to %d", large, after)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Events that stand far apart in the log take a block each and no other one, and events that stand together share theirs.
func TestNoBlockIsReadInVain(t *testing.T) {
	sizes := make([]int, 1000)
	for n := range sizes {
		sizes[n] = 1500
	}
	s, events := filled(t, sizes, func(int) nostr.Kind { return 1621 })
	store.Compact(s)
	for _, c := range []struct {
		name  string
		apart int
		most  int64 // blocks
	}{{"far", 25, 60}, {"near", 1, 30}} {
		var f nostr.Filter
		for n := range 40 {
			f.IDs = append(f.IDs, events[n*c.apart*7%len(events)].ID) // in the order of the log
		}
		v := s.View()
		before, n := store.BlocksRead(s), 0
		for _, err := range v.Query(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if blocks := store.BlocksRead(s) - before; n != 40 || blocks > c.most {
			t.Errorf("%s: %d events took %d blocks", c.name, n, blocks)
		}
		v.Close()
	}
}
