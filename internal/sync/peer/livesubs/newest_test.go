package livesubs

import (
	"testing"

	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// What is given up for others is told by the newest root event of a live REQ: anything that is no root event is newer than any.
func TestTheNewestOfALiveREQ(t *testing.T) {
	f := wanttest.NewFold(t)
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, []string{wanttest.Us, wanttest.Relay(1)}))
	for _, at := range []int64{10, 30, 20} {
		f.AddAll(f.Issue(at, wanttest.Address(wanttest.Key(0), "x")))
	}
	f.Step()
	w := f.Wants[want.URL(wanttest.Relay(1))]
	repo := w.Repos[0].Item
	var roots []want.Item
	w.Repos[0].EachRoot(func(it want.Item) { roots = append(roots, it) })
	for _, c := range []struct {
		of   [][]want.Item
		rank int64
	}{
		{nil, 0},
		{[][]want.Item{{roots[0]}}, 10},
		{[][]want.Item{roots}, 30},
		{[][]want.Item{{roots[0]}, {roots[2]}}, 20},
		{[][]want.Item{{roots[2]}, {roots[0]}}, 20},
		{[][]want.Item{{repo}, {roots[0]}}, aboveAll},
		{[][]want.Item{{want.Announcements}, {roots[0]}}, aboveAll},
		{[][]want.Item{{roots[1]}, {repo}}, aboveAll},
	} {
		var lots []itemset.Lot
		for _, items := range c.of {
			lots = append(lots, itemset.Lot{Items: items})
		}
		if got := newest(w, lots); got != c.rank {
			t.Errorf("%v: the newest is of %d, not %d", c.of, got, c.rank)
		}
		for than := int64(0); than < 40; than++ {
			got, ok := newestBelow(w, lots, than)
			if below := c.rank < than; ok != below || below && got != c.rank {
				t.Errorf("%v: the newest below %d is of %d, %v", c.of, than, got, ok)
			}
		}
	}
}
