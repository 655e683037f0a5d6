package gitsync

import (
	"sync"

	"github.com/graspd/graspd/internal/gitwire"
)

// refusedKept bounds the refused objects. Beyond it all are forgotten, and fetches find them out again.
const refusedKept = 10_000

// refused are objects that a fetch asked for by themselves and that lead to an object which graspd does not take. From then on a fetch asks
// for an event that names one of them by itself, so that it costs no other event its data.
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
