package gitsync

import (
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// refusedKept bounds the refused objects. Beyond it refused forgets all, and fetches find them out again.
const refusedKept = 10_000

// refused has objects that a fetch asked for by themselves and that lead to an object which graspd does not take. From then on a fetch asks for
// an event by itself that names one of them, so that it costs no other event its data.
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

// any reports whether one of the ids is a refused object.
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
