package negentropy_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

func wantError(t *testing.T, msg []byte, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("message %x: error %v, want %v", msg[:min(len(msg), 50)], err, want)
	}
}

func wantMalformed(t *testing.T, msg []byte, err error) {
	t.Helper()
	wantError(t, msg, err, negentropy.ErrMalformed)
}

// outcome is what one reconciliation came to.
type outcome struct {
	have, need map[[32]byte]bool
	rounds     int
	sent       int // bytes, both directions
}

// reconcile runs a reconciliation to its end. It fails the test if a message
// passes its limit, an id comes twice, or the end does not come.
func reconcile(t testing.TB, client, server *negentropy.Set, clientLimit, serverLimit int) outcome {
	t.Helper()
	n := negentropy.NewInitiator(client, clientLimit)
	o := outcome{have: map[[32]byte]bool{}, need: map[[32]byte]bool{}}
	within := func(msg []byte, limit int) {
		if limit > 0 && len(msg) > limit {
			t.Fatalf("message of %d bytes, limit %d", len(msg), limit)
		}
		o.sent += len(msg)
	}
	collect := func(into map[[32]byte]bool, ids [][32]byte) {
		for _, id := range ids {
			if into[id] {
				t.Fatalf("id %x told twice", id)
			}
			into[id] = true
		}
	}
	for msg := n.Start(); msg != nil; o.rounds++ {
		if o.rounds > 1000+client.Len()+server.Len() {
			t.Fatalf("no end after %d rounds", o.rounds)
		}
		within(msg, clientLimit)
		answer, err := negentropy.Respond(server, serverLimit, msg)
		if err != nil {
			t.Fatalf("respond in round %d: %v", o.rounds, err)
		}
		within(answer, serverLimit)
		reply, have, need, err := n.Step(answer)
		if err != nil {
			t.Fatalf("step in round %d: %v", o.rounds, err)
		}
		collect(o.have, have)
		collect(o.need, need)
		msg = reply
	}
	return o
}

// wantDifference checks an outcome against plain set difference.
func wantDifference(t testing.TB, o outcome, client, server []negentropy.Item) {
	t.Helper()
	onlyIn := func(a, b []negentropy.Item) map[[32]byte]bool {
		ids := map[[32]byte]bool{}
		for _, it := range a {
			ids[it.ID] = true
		}
		for _, it := range b {
			delete(ids, it.ID)
		}
		return ids
	}
	same := func(what string, got, want map[[32]byte]bool) {
		if len(got) != len(want) {
			t.Errorf("%s: %d ids, want %d", what, len(got), len(want))
		}
		for id := range want {
			if !got[id] {
				t.Fatalf("%s lacks %x", what, id)
			}
		}
	}
	same("have", o.have, onlyIn(client, server))
	same("need", o.need, onlyIn(server, client))
}

// clock says how the items of a random set lie in time.
type clock func(r *rand.Rand, i int) uint64

var clocks = map[string]clock{
	"spread":    func(r *rand.Rand, _ int) uint64 { return 1_700_000_000 + r.Uint64N(1e8) },
	"crowded":   func(r *rand.Rand, _ int) uint64 { return 1_700_000_000 + r.Uint64N(10) },
	"one time":  func(*rand.Rand, int) uint64 { return 1_700_000_000 },
	"one burst": func(r *rand.Rand, i int) uint64 { return 1_700_000_000 + uint64(max(0, i%1000-900)) },
	"extreme":   func(r *rand.Rand, _ int) uint64 { return []uint64{0, 1, 1<<64 - 2, r.Uint64() >> 1}[r.IntN(4)] },
}

// overlap says who has item i.
type overlap func(r *rand.Rand, i int) (client, server bool)

var overlaps = map[string]overlap{
	"equal":       func(*rand.Rand, int) (bool, bool) { return true, true },
	"disjoint":    func(r *rand.Rand, _ int) (bool, bool) { c := r.IntN(2) == 0; return c, !c },
	"subset":      func(r *rand.Rand, _ int) (bool, bool) { return r.IntN(2) == 0, true },
	"superset":    func(r *rand.Rand, _ int) (bool, bool) { return true, r.IntN(2) == 0 },
	"none":        func(*rand.Rand, int) (bool, bool) { return false, true },
	"all":         func(*rand.Rand, int) (bool, bool) { return true, false },
	"half":        func(r *rand.Rand, _ int) (bool, bool) { k := r.IntN(4); return k != 0, k != 1 },
	"few differ":  func(r *rand.Rand, _ int) (bool, bool) { k := r.IntN(400); return k != 0, k != 1 },
	"newest gone": func(_ *rand.Rand, i int) (bool, bool) { return i >= 50, true },
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 77)) }

// randomSets returns what both sides have of n random items.
func randomSets(r *rand.Rand, n int, when clock, who overlap) (client, server []negentropy.Item) {
	for i := range n {
		it := negentropy.Item{Time: when(r, i)}
		for at := 0; at < 32; at += 8 {
			binary.LittleEndian.PutUint64(it.ID[at:], r.Uint64())
		}
		c, s := who(r, i)
		if c {
			client = append(client, it)
		}
		if s {
			server = append(server, it)
		}
	}
	return client, server
}

func testSets(t *testing.T, n int, when clock, who overlap, clientLimit, serverLimit int) {
	t.Helper()
	client, server := randomSets(seeded(uint64(n)), n, when, who)
	o := reconcile(t, set(slices.Clone(client)...), set(slices.Clone(server)...), clientLimit, serverLimit)
	wantDifference(t, o, client, server)
}

func TestReconcile(t *testing.T) {
	limits := [][2]int{{0, 0}, {4096, 0}, {0, 4096}, {4096, 4096}, {60_000, 500_000}}
	for clockName, when := range clocks {
		for overlapName, who := range overlaps {
			t.Run(fmt.Sprintf("%s/%s", clockName, overlapName), func(t *testing.T) {
				for _, n := range []int{0, 1, 2, 31, 32, 33, 100, 500} {
					testSets(t, n, when, who, 0, 0)
				}
				for _, limit := range limits {
					testSets(t, 1500, when, who, limit[0], limit[1])
				}
			})
		}
	}
}

// Each message answers the one before it as the protocol demands.
func TestAnswers(t *testing.T) {
	for clockName, when := range clocks {
		for overlapName, who := range overlaps {
			t.Run(fmt.Sprintf("%s/%s", clockName, overlapName), func(t *testing.T) {
				client, server := randomSets(seeded(9), 700, when, who)
				c, s := set(client...), set(server...)
				n := negentropy.NewInitiator(c, 0)
				for msg := n.Start(); msg != nil; {
					answer := respond(t, s, 0, msg)
					wantAnswer(t, s, true, msg, answer)
					reply, _, _, err := n.Step(answer)
					if err != nil {
						t.Fatal(err)
					}
					if reply != nil {
						wantAnswer(t, c, false, answer, reply)
					}
					msg = reply
				}
			})
		}
	}
}

// Ids of one time that differ only in their last bytes can be told apart.
func TestAlikeIDs(t *testing.T) {
	var client, server []negentropy.Item
	for i := range 2000 {
		it := item(7, [32]byte{30: byte(i >> 8), 31: byte(i)})
		client = append(client, it)
		if i%100 != 0 {
			server = append(server, it)
		}
	}
	c, s := set(slices.Clone(client)...), set(slices.Clone(server)...)
	wantTrue(t, c, negentropy.NewInitiator(c, 0).Start())
	wantDifference(t, reconcile(t, c, s, 0, 0), client, server)
	wantDifference(t, reconcile(t, s, c, 4096, 4096), server, client)
}
