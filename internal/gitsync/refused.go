package gitsync

import (
	"sync"

	"github.com/graspd/graspd/internal/gitwire"
)

// refusedKept bounds the objects of which it is known that something below them is not taken. Beyond it all are forgotten, and are found
// out again.
const refusedKept = 10_000

// refused are objects that were asked for by themselves and led to something that is not taken here. Whatever event names one of them is
// asked for by itself from then on, so that others do not come along with it.
type refused struct {
	mu  sync.Mutex
	ids map[gitwire.ObjectID]bool
}

func (r *refused) put(ids []gitwire.ObjectID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil || len(r.ids)+len(ids) > refusedKept {
		r.ids = map[gitwire.ObjectID]bool{}
	}
	for _, id := range ids[:min(len(ids), refusedKept)] {
		r.ids[id] = true
	}
}

// any reports whether one of some objects is one of these.
func (r *refused) any(ids []gitwire.ObjectID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if r.ids[id] {
			return true
		}
	}
	return false
}
