package storetest

import (
	"testing"

	"github.com/graspd/graspd/internal/events/store"
)

// Couple is two stores of which the first leads and the second follows.
type Couple struct {
	Stores  [2]Store
	Follow  func() // has the second take what the first has written; it may open the second anew
	Swap    func() // has the second lead and the first follow; it swaps Stores too
	Compare func() // compares what a Store does not show

	// Promote has the second lead. It returns the same store, and one that was opened with what is on the disk of the second, and leads too.
	Promote func() [2]Store
}

// Twins plays one random history, determined by the seed, to a store that leads, and requires after each step that the one that follows
// shows the same. Then it plays more of the history to what Promote returns, and requires that these two agree on everything.
func Twins(t *testing.T, seed uint64, steps, more int, open func(store.Options) *Couple) {
	t.Helper()
	h := newHistory(t, seed)
	h.couple = open(h.opt)
	h.stores = h.couple.Stores
	h.play(seed, steps)
	compare := h.couple.Compare
	h.stores, h.couple = h.couple.Promote(), nil
	h.note("promoted")
	h.play(seed, more)
	compare()
}

// told is how many of the stores hear what is done, the first ones.
func (h *history) told() int {
	if h.couple != nil {
		return 1
	}
	return 2
}

func (h *history) follow() {
	if h.couple != nil {
		h.couple.Follow()
		h.stores = h.couple.Stores
		h.couple.Compare()
	}
}

// swap has the other store of a couple lead.
func (h *history) swap() {
	if h.couple != nil {
		h.note("swap")
		h.couple.Swap()
		h.stores = h.couple.Stores
	}
}
