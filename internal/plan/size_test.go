package plan

import "testing"

// What is given up for others is told by the newest root event of a live REQ: anything that is no root event is newer than any.
func TestTheNewestOfALiveREQ(t *testing.T) {
	w := &Want{names: newNames()}
	var roots [3]Item
	for i, at := range []int64{10, 30, 20} {
		w.names, roots[i] = w.names.addRoot(rootName{created: at})
	}
	var repo Item
	w.names, repo = w.names.addRepo(newRepository([]string{"30617:00:x"}, "x"))
	for _, c := range []struct {
		of   [][]Item
		want int64
	}{
		{nil, 0},
		{[][]Item{{roots[0]}}, 10},
		{[][]Item{roots[:]}, 30},
		{[][]Item{{roots[0]}, {roots[2]}}, 20},
		{[][]Item{{roots[2]}, {roots[0]}}, 20},
		{[][]Item{{repo}, {roots[0]}}, forever},
		{[][]Item{{Announcements}, {roots[0]}}, forever},
		{[][]Item{{roots[1]}, {repo}}, forever},
	} {
		var lots []lot
		for _, items := range c.of {
			lots = append(lots, lot{items: items})
		}
		if got := w.newest(lots); got != c.want {
			t.Errorf("%v: the newest is of %d, not %d", c.of, got, c.want)
		}
	}
}
