package gaps

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// TestWhatCameLaterIsBounded: a relay that ends its live REQs again and again makes
// nothing grow, and what is forgotten counts as followed later than it was, never sooner.
func TestWhatCameLaterIsBounded(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var f Times
	begun := backoff.Now{Wall: start}
	f.Follow([]itemset.Lot{{Items: []want.Item{1, 2}}}, begun, backoff.Now{Wall: start})
	var all []want.Item
	for it := range want.Item(MostLate / 20) {
		all = append(all, it)
	}
	at := func(n int) backoff.Now {
		d := time.Hour + time.Duration(n)*time.Minute
		return backoff.Now{Mono: d, Wall: start.Add(d)}
	}
	opened := make(map[want.Item]int64)
	for n := range 200 {
		lots := []itemset.Lot{{Items: all[n:]}}
		f.Follow(lots, begun, at(n))
		for _, it := range lots[0].Items {
			opened[it] = at(n).Wall.Unix()
		}
		sum := 0
		for _, e := range f.late {
			sum += len(e.items)
		}
		if sum != f.items || sum > MostLate {
			t.Fatalf("%d items are held, %d counted", sum, f.items)
		}
	}
	for it, since := range opened {
		if got := f.Of(it); got < since {
			t.Fatalf("item %d is taken to be followed since %d, not %d", it, got, since)
		}
	}
	if last := all[len(all)-1]; f.Of(last) != at(199).Wall.Unix() {
		t.Error("the newest is forgotten")
	}
	if old := f.Of(0); old > at(185).Wall.Unix() {
		t.Errorf("more is forgotten than has to be: since %v", time.Unix(old, 0).Sub(start))
	}
	f.Follow([]itemset.Lot{{Items: make([]want.Item, MostLate+1)}}, begun, at(200))
	if f.items != 0 || len(f.late) != 0 || f.all != at(200).Wall.Unix() {
		t.Errorf("more than fits: %d items, all since %d", f.items, f.all)
	}
	day := at(200 + 27*60)
	f.Follow([]itemset.Lot{{Items: []want.Item{7}}}, begun, day)
	f.Follow([]itemset.Lot{{Items: []want.Item{8}}}, begun, at(200+54*60))
	if f.all != day.Wall.Unix() || f.items != 1 {
		t.Errorf("after a day: %+v", f)
	}
}

// TestAREQWithoutItemsIsNotRemembered: it stands in for others, which have noted theirs.
func TestAREQWithoutItemsIsNotRemembered(t *testing.T) {
	var f Times
	late := backoff.Now{Mono: time.Hour, Wall: time.Unix(1_700_000_000, 0)}
	f.Follow(nil, backoff.Now{}, late)
	if times, items := f.Size(); times != 0 || items != 0 || f.all != 0 {
		t.Errorf("%d times of %d items, all since %d", times, items, f.all)
	}
	f.Follow([]itemset.Lot{{Items: []want.Item{1}}}, backoff.Now{}, late)
	if times, items := f.Size(); times != 1 || items != 1 || f.Of(1) != late.Wall.Unix() || f.Of(2) != 0 {
		t.Errorf("%d times of %d items", times, items)
	}
	if f.Restart(7); f.Of(1) != 7 || f.all != 7 {
		t.Errorf("after a restart since %d", f.Of(1))
	}
}
