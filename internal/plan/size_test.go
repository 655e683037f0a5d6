package plan

import "testing"

// What is given up for newer root events is told by the size of a live REQ: anything that is no root event is newer than any.
func TestSizeTellsTheNewest(t *testing.T) {
	w := &Want{names: newNames()}
	var roots [3]Item
	for i, at := range []int64{10, 30, 20} {
		w.names, roots[i] = w.names.addRoot(rootName{created: at})
	}
	var repo Item
	w.names, repo = w.names.addRepo(newRepository([]string{"30617:00:x"}, "x"))
	of := func(items ...Item) (s size) {
		for _, it := range items {
			s.add(w, it)
		}
		return s
	}
	for _, c := range []struct {
		of   size
		want int64
	}{
		{size{}, 0},
		{of(roots[0]), 10},
		{of(roots[:]...), 30},
		{of(roots[0]).plus(of(roots[2])), 20},
		{of(roots[2]).plus(of(roots[0])), 20},
		{of(roots[0], repo), forever},
		{of(Announcements, roots[0]), forever},
		{of(repo).plus(of(roots[1])), forever},
	} {
		if c.of.newest != c.want {
			t.Errorf("%+v: the newest is of %d, not %d", c.of, c.of.newest, c.want)
		}
	}
}
