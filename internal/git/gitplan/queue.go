package gitplan

import (
	"container/heap"

	"github.com/graspd/graspd/internal/base/backoff"
)

// later is a heap of the repositories by the time at which their next round begins, each once. Repositories of the same moment stand in the
// order of their addresses, so that the same inputs always have the same effects.
type later []*repo

func (l later) Len() int { return len(l) }

func (l later) Less(i, j int) bool {
	a, b := l[i], l[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.of.Compare(b.of) < 0
}

func (l later) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (l *later) Push(x any) {
	r := x.(*repo)
	*l = append(*l, r)
	r.place = len(*l)
}

// Pop implements heap.Interface.
func (l *later) Pop() any {
	last := len(*l) - 1
	r := (*l)[last]
	(*l)[last] = nil
	*l, r.place = (*l)[:last], 0
	return r
}

// put puts a repository at the time of its next round, if it has a source and does not stand in its owner's queue already.
func (l *later) put(r *repo) {
	at := r.next()
	switch {
	case at == backoff.Never || r.ready:
		l.take(r)
	case r.place == 0:
		r.at = at
		heap.Push(l, r)
	default:
		r.at = at
		heap.Fix(l, r.place-1)
	}
}

// take takes a repository out.
func (l *later) take(r *repo) {
	if r.place > 0 {
		heap.Remove(l, r.place-1)
	}
}
