package peer_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer"
)

// TestNoRelayCountsAsCompleteThatWasReadInPart: relays that compare any number of their newest events, the same or another
// one each time, with answers capped in any way, are behaved from the beginning. When all is confirmed for the first
// time, everything that they have and that is wanted is here; and nobody is accused who compares everything.
func TestNoRelayCountsAsCompleteThatWasReadInPart(t *testing.T) {
	each(t, 0, *lives, readInPart)
}

func readInPart(t testing.TB, seed uint64, telling bool) {
	r := rand.New(rand.NewPCG(seed, 5))
	c := character{
		page: pick(r, 500, 500, 60, 20, 5, 3), order: pick(r, "newest", "newest", "oldest", "moody"), neg: "works",
		records: pick(r, 0, 0, 0, 40), withheld: pick(r, 0, 0, 0, 10), ids: pick(r, 0, 0, 5), given: pick(r, 0, 0, 1, 4, 30),
		newest: pick(r, 0, 1, 2, 5, 10, 20, 40, 80), varies: r.IntN(3) == 0, noZero: r.IntN(8) == 0,
	}
	if c.newest == 0 {
		c.varies = false
	}
	w := newWorld(t, seed, c, peer.Config{MaxTags: pick(r, 0, 10, 3), WholeFrom: pick(r, 0, 1, 500)})
	w.logging = telling
	w.keep(w.shop.Announce(key(50), "home", w.unix(), []string{us, string(here)}))
	for range 20 + w.r.IntN(120) {
		w.appear(int64(pick(w.r, w.r.IntN(40), 5000+w.r.IntN(30), w.r.IntN(4_000_000))))
	}
	if !w.run(w.mono+30*time.Hour, func() bool { return w.peer.AllConfirmed() && !w.window && w.mono > time.Minute }) {
		w.fail("not settled: %+v", w.peer.Status())
	}
	if w.peer.Polled() {
		return // some is asked in turns
	}
	if missing := w.missing(); len(missing) > 0 {
		e := missing[0]
		w.fail("%d events are missing, such as %v, kind %d, created %d, and the relay counts as complete: %+v", len(missing), e.ID, e.Kind, e.CreatedAt, w.peer.Status())
	}
	if s := w.peer.Status(); c.newest == 0 && s.Negentropy != "works" {
		w.fail("it compares everything: %+v", s)
	}
}
