package itemset_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

func lot(l want.Layer, a itemset.Isolation, s itemset.Since, items ...want.Item) itemset.Lot {
	return itemset.Lot{Layer: l, Isolation: a, Since: s, Items: items}
}

// Lots are joined where their items stand alike in every respect.
func TestLotsThatAreAlikeAreJoined(t *testing.T) {
	given := []want.Item{7}
	var lots []itemset.Lot
	for _, l := range []itemset.Lot{
		lot(want.LayerRoots, itemset.Shared, itemset.AllStored, given...),
		lot(want.LayerRoots, itemset.Shared, itemset.AllStored),
		lot(want.LayerRepositories, itemset.Shared, itemset.AllStored, 1),
		lot(want.LayerRepositories, itemset.OddValue, itemset.AllStored, 2),
		lot(want.LayerRoots, itemset.Shared, 1000, 8),
		lot(want.LayerRoots, itemset.Shared, itemset.AllStored, 9, 10),
		lot(want.LayerRepositories, itemset.OddValue, itemset.AllStored, 3),
	} {
		lots = itemset.AddLot(lots, l)
	}
	want := []itemset.Lot{
		lot(want.LayerRoots, itemset.Shared, itemset.AllStored, 7, 9, 10),
		lot(want.LayerRepositories, itemset.Shared, itemset.AllStored, 1),
		lot(want.LayerRepositories, itemset.OddValue, itemset.AllStored, 2, 3),
		lot(want.LayerRoots, itemset.Shared, 1000, 8),
	}
	if !reflect.DeepEqual(lots, want) {
		t.Errorf("%v", lots)
	}
	lots[0].Items[0] = 99
	if given[0] != 7 {
		t.Error("the items of a lot are those of whoever gave them")
	}
}

func TestLotsArePruned(t *testing.T) {
	lots := []itemset.Lot{lot(want.LayerRoots, 0, 0, 1, 2, 3, 4), lot(want.LayerRepositories, 0, 0, 6), lot(want.LayerRoots, 0, 9, 5)}
	even := func(it want.Item) bool { return it%2 == 0 }
	if !itemset.Holds(lots, even) || itemset.Holds(lots, func(it want.Item) bool { return it > 6 }) {
		t.Error("what lots hold")
	}
	lots = itemset.Prune(lots, even)
	if got := itemset.ItemsOf(lots); !slices.Equal(got, []want.Item{1, 3, 5}) || len(lots) != 2 {
		t.Errorf("%v in %d lots", got, len(lots))
	}
	if itemset.Holds(lots, even) {
		t.Error("what was taken out is held")
	}
}

func TestSince(t *testing.T) {
	for _, tt := range []struct {
		s                itemset.Since
		bounded, counted bool
		from             int64
	}{
		{itemset.AllStored, false, false, 0},
		{itemset.AllAgain, false, true, 1},
		{itemset.SinceTime(time.Unix(-5, 0)), false, true, 1},
		{itemset.SinceTime(time.Unix(2, 0)), true, true, 2},
		{itemset.SinceTime(time.Unix(1_700_000_000, 999)), true, true, 1_700_000_000},
	} {
		if tt.s.Bounded() != tt.bounded || tt.s.Counted() != tt.counted || tt.s.Span().Since != tt.from || tt.s.Span().Until < math.MaxInt32 {
			t.Errorf("%d: bounded %v, counted %v, asks %v", tt.s, tt.s.Bounded(), tt.s.Counted(), tt.s.Span())
		}
	}
}

func TestRepositoriesAreCountedApart(t *testing.T) {
	var k itemset.Known
	if !k.Put(3, true) || !k.Put(4, false) || k.Put(3, true) || k.Len() != 2 || k.Repos.Len() != 1 {
		t.Errorf("%d items, %d repositories", k.Len(), k.Repos.Len())
	}
	if !k.Drop(3) || k.Drop(3) || k.Len() != 1 || k.Repos.Len() != 0 {
		t.Errorf("%d items, %d repositories when it is gone", k.Len(), k.Repos.Len())
	}
	k.Put(5, true)
	if k.Clear(); k.Len()+k.Repos.Len() != 0 {
		t.Error("something is left")
	}
	var b itemset.Bag
	b.Add(1)
	b.Add(1)
	b.Add(2)
	if b.Repeats() != 1 || b.Spread() != 1 || b.Len() != 2 {
		t.Errorf("%d repeat, on %d pages, of %d", b.Repeats(), b.Spread(), b.Len())
	}
	if b.Sub(1); b.Repeats() != 0 || !b.Has(1) {
		t.Error("it is counted twice")
	}
	s := itemset.Of(slices.Values([]want.Item{1, 2, 2, 200}))
	if s.Len() != 3 || s.Spread() != 2 || !slices.Equal(slices.Collect(s.Above(1)), []want.Item{2, 200}) {
		t.Errorf("%d items on %d pages", s.Len(), s.Spread())
	}
}
