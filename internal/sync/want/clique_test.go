package want_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// clique is n keys with one identifier of which each invites the hundred next to it.
type clique struct {
	*fold
	n  int
	at int64
}

func newClique(t testing.TB, n int) *clique {
	c := &clique{fold: newFold(t), n: n}
	for i := range n {
		c.Add(c.announcement(i))
	}
	c.Step()
	return c
}

func (c *clique) announcement(i int) *nostr.Event {
	c.at++
	var others []nostr.PubKey
	for k := 1; k <= 50; k++ {
		others = append(others, key((i+k)%c.n), key((i-k+c.n)%c.n))
	}
	return c.Announce(key(i), "x", c.at, []string{us, relay(i), relay(i + 1)}, others...)
}

// spent is how many bytes are allocated by so many edits, each derived.
func (c *clique) spent(edits int) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range edits {
		c.AddAll(c.announcement(i)).Step()
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyWhoInviteEachOther: who belongs together is worked out once for all of them, and an edit costs in proportion to
// their number.
func TestManyWhoInviteEachOther(t *testing.T) {
	few, many := newClique(t, 110), newClique(t, 550)
	a, b := few.spent(2), many.spent(2)
	if b > 8*a {
		t.Errorf("an edit among 550 allocates %d kB, one among 110 %d kB", b>>10, a>>10)
	}
	if n := many.Kept(); n != 1 {
		t.Errorf("%d councils are kept of 550 who have one", n)
	}
	if w := many.Wants[want.URL(relay(7))]; len(w.Repos) < 20 {
		t.Errorf("relay 7 is wanted for %d repositories", len(w.Repos))
	}
	// One who names nobody, and one who has left, have their own.
	many.AddAll(many.Announce(key(5000), "x", 1, []string{us, relay(1)}), many.Announce(key(3), "x", 10_000, []string{us, relay(1)})).Step()
	if n := many.Kept(); n != 3 {
		t.Errorf("%d councils, not 3", n)
	}
}

// TestAnEditConcernsOnlyItsRepository: what an author's other repositories have in common with others is not worked out again.
func TestAnEditConcernsOnlyItsRepository(t *testing.T) {
	f := newFold(t)
	for i := range 50 {
		f.Add(f.Announce(key(0), fmt.Sprint("r", i), 1, []string{us, relay(i)}, key(1)))
		f.Add(f.Announce(key(1), fmt.Sprint("r", i), 1, []string{us, relay(i + 1)}, key(0)))
	}
	f.Step()
	before := f.Derived()
	f.AddAll(f.Announce(key(0), "r7", 2, []string{us, relay(7), relay(90)}, key(1))).Step()
	if n := f.Derived() - before; n != 2 {
		t.Errorf("%d repositories are derived for an edit of one that two have", n)
	}
}

func BenchmarkEditAmong(b *testing.B) {
	for _, n := range []int{250, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newClique(b, n)
			for i := 0; b.Loop(); i++ {
				c.AddAll(c.announcement(i % n)).Step()
			}
		})
	}
}

// TestRelaysMoveUp: where a repository has gone, others of its author have what it took of his relays.
func TestRelaysMoveUp(t *testing.T) {
	f := newFold(t)
	var first *nostr.Event
	for i := range 3 {
		urls := []string{us}
		for k := range 19 {
			urls = append(urls, relay(100*i+k))
		}
		e := f.Announce(key(0), fmt.Sprint("r", i), 1, urls)
		if f.Add(e); i == 0 {
			first = e
		}
	}
	f.Step()
	if len(f.Wants) != 50 || f.Wants[want.URL(relay(212))] != nil {
		t.Fatalf("%d relays at first", len(f.Wants))
	}
	f.Remove(first.ID)
	if f.Step(); len(f.Wants) != 38 || f.Wants[want.URL(relay(212))] == nil {
		t.Errorf("%d relays when one repository has gone", len(f.Wants))
	}
}
