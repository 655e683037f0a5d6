package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// bounded is a meter that stops after so many steps.
func bounded(most int) store.Meter {
	return func(steps int) error {
		if most -= steps; most < 0 {
			return errCostly
		}
		return nil
	}
}

var errCostly = errors.New("too costly")

// TestMeter: whatever shape a filter has, what it makes the store do is told while it is done, and can be ended there.
func TestMeter(t *testing.T) {
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const all = 2000
	var ids []nostr.ID
	var authors []nostr.PubKey
	for i := range 20 {
		authors = append(authors, storetest.Author(byte(i)))
	}
	for range all / 500 {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for range 500 {
			n := len(ids)
			e := storetest.Event(byte(n%20), storetest.Start+int64(n), nostr.Kind(1+6*(n%2)), "", nostr.Tag{"t", "x"},
				nostr.Tag{"z", fmt.Sprint(n % 1000)}, nostr.Tag{"p", fmt.Sprint(n % 20)})
			if out, err := b.Add(e, store.Live); err != nil || out != policy.Accept {
				t.Fatal(out, err)
			}
			ids = append(ids, e.ID)
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	v := s.View()
	defer v.Close()
	tags := func(name byte, n int) nostr.TagFilter {
		f := nostr.TagFilter{Name: name}
		for i := range n {
			f.Values = append(f.Values, fmt.Sprint(i))
		}
		return f
	}
	x := nostr.TagFilter{Name: 't', Values: []string{"x"}}
	for _, tt := range []struct {
		name        string
		f           nostr.Filter
		least, most int // what it may cost
	}{
		{"everything", nostr.Filter{}, 1000, 2 * all},
		{"ids", nostr.Filter{IDs: ids[:500]}, 1999, 4000},
		{"ids and tags", nostr.Filter{IDs: ids[:500:500], Tags: []nostr.TagFilter{x}}, 10_000, 30_000},
		{"two tags, by index", nostr.Filter{Tags: []nostr.TagFilter{x, tags('z', 8)}}, 16, all},
		{"two long lists, by event", nostr.Filter{Tags: []nostr.TagFilter{tags('z', 500), tags('p', 20)}}, 30_000, 80_000},
		{"many values", nostr.Filter{Tags: []nostr.TagFilter{tags('z', 500)}}, 2500, 8000},
		{"values that nothing has", nostr.Filter{Tags: []nostr.TagFilter{{Name: 'y', Values: tags('y', 500).Values}}}, 1999, 4000},
		{"authors and a tag", nostr.Filter{Authors: authors, Tags: []nostr.TagFilter{x}}, all, 60 * all},
	} {
		told := 0
		view := v.Metered(func(steps int) error { told += steps; return nil })
		if _, err := view.Count(t.Context(), []nostr.Filter{tt.f}); err != nil {
			t.Fatal(err)
		}
		if told < tt.least || told > tt.most {
			t.Errorf("%s: %d steps, want %d to %d", tt.name, told, tt.least, tt.most)
		}
		if told < 1000 {
			continue
		}
		if n, err := v.Metered(bounded(told/2)).Count(t.Context(), []nostr.Filter{tt.f}); !errors.Is(err, errCostly) || n != 0 {
			t.Errorf("%s, with half of it: %d, %v", tt.name, n, err)
		}
	}
	// What several filters cost is one sum.
	told := 0
	thrice := []nostr.Filter{{}, {}, {}}
	if _, err := v.Metered(func(n int) error { told += n; return nil }).Count(t.Context(), thrice); err != nil || told < 3*all || told > 4*all {
		t.Errorf("three times everything: %d steps, %v", told, err)
	}
	// Queries are metered as they are read, and a reader that has enough hears nothing more.
	told = 0
	for _, err := range v.Metered(func(n int) error { told += n; return nil }).Query(t.Context(), nostr.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if told < 1 || told > 120 {
		t.Errorf("the first event: %d steps", told)
	}
	n := 0
	var last error
	for _, err := range v.Metered(bounded(all/2)).Query(t.Context(), nostr.Filter{}) {
		n++
		last = err
	}
	if !errors.Is(last, errCostly) || n < all/20 || n > all/8+1 {
		t.Errorf("with steps for some of it: %d events, then %v", n, last)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := v.Count(ctx, []nostr.Filter{{}}); !errors.Is(err, gone) {
		t.Errorf("for nobody: %v", err)
	}
}
