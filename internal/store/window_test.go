package store_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"graspd/internal/nostr"
	"graspd/internal/policy"
	"graspd/internal/store"
	"graspd/internal/store/storetest"
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
		// One row in fifty matches. Besides rows there are the events, and some places in the index; what is found between the
		// pause and this comes later.
		if rows := told - 4*found - 40; found < min(40, rows/50-2) {
			late++
		}
		return nil
	})
	kinds := make([]nostr.Kind, 600) // too many to be looked up
	for n := range kinds {
		kinds[n] = nostr.Kind(1021 + n)
	}
	kinds[0] = 1621
	for _, err := range metered.Query(t.Context(), nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: 't', Values: []string{"x"}}}}) {
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
