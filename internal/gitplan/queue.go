package gitplan

import (
	"container/heap"
	"time"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// later are repositories by when their next round begins. What is put again counts once, by its last time.
type later []entry

type entry struct {
	at time.Duration
	of nip34.Address
}

func (l later) Len() int           { return len(l) }
func (l later) Less(i, j int) bool { return l[i].at < l[j].at }
func (l later) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *later) Push(x any)        { *l = append(*l, x.(entry)) }
func (l *later) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}

// put puts a repository in, if there is anybody to ask.
func (l *later) put(r *repo) {
	if at := r.next(); at != never {
		heap.Push(l, entry{at, r.of})
	}
}

// ready are the repositories whose round is due, by owner, and the owners in the order of their turns.
type ready struct {
	owners []nostr.PubKey
	of     map[nostr.PubKey][]*repo
}

func newReady() ready { return ready{of: map[nostr.PubKey][]*repo{}} }

func (q *ready) put(r *repo) {
	if r.ready {
		return
	}
	r.ready = true
	owner := r.of.PubKey
	if len(q.of[owner]) == 0 {
		q.owners = append(q.owners, owner)
	}
	q.of[owner] = append(q.of[owner], r)
}
