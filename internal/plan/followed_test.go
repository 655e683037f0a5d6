package plan

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/itemset"
)

// TestWhatCameLaterIsBounded: a relay that ends its live REQs again and again makes
// nothing grow, and what is forgotten counts as followed later than it was, never sooner.
func TestWhatCameLaterIsBounded(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var f followed
	begun := Now{Wall: start}
	f.follow([]itemset.Lot{{Items: []Item{1, 2}}}, begun, Now{Wall: start})
	var all []Item
	for it := range Item(mostLate / 20) {
		all = append(all, it)
	}
	at := func(n int) Now {
		d := time.Hour + time.Duration(n)*time.Minute
		return Now{Mono: d, Wall: start.Add(d)}
	}
	opened := make(map[Item]int64)
	for n := range 200 {
		lots := []itemset.Lot{{Items: all[n:]}}
		f.follow(lots, begun, at(n))
		for _, it := range lots[0].Items {
			opened[it] = at(n).Wall.Unix()
		}
		sum := 0
		for _, e := range f.late {
			sum += len(e.items)
		}
		if sum != f.items || sum > mostLate {
			t.Fatalf("%d items are held, %d counted", sum, f.items)
		}
	}
	for it, since := range opened {
		if got := f.since(it); got < since {
			t.Fatalf("item %d is taken to be followed since %d, not %d", it, got, since)
		}
	}
	if last := all[len(all)-1]; f.since(last) != at(199).Wall.Unix() {
		t.Error("the newest is forgotten")
	}
	if old := f.since(0); old > at(185).Wall.Unix() {
		t.Errorf("more is forgotten than has to be: since %v", time.Unix(old, 0).Sub(start))
	}
	f.follow([]itemset.Lot{{Items: make([]Item, mostLate+1)}}, begun, at(200))
	if f.items != 0 || len(f.late) != 0 || f.all != at(200).Wall.Unix() {
		t.Errorf("more than fits: %d items, all since %d", f.items, f.all)
	}
	day := at(200 + 27*60)
	f.follow([]itemset.Lot{{Items: []Item{7}}}, begun, day)
	f.follow([]itemset.Lot{{Items: []Item{8}}}, begun, at(200+54*60))
	if f.all != day.Wall.Unix() || f.items != 1 {
		t.Errorf("after a day: %+v", f)
	}
}
