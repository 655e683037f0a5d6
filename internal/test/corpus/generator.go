package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math/rand/v2"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// generator makes one corpus. Every repository has a source of randomness of its own, so that it comes out the same whatever other
// repositories there are.
type generator struct {
	o      Options
	people map[int]*person
	roots  []int // of each repository
	others []int // of each repository
}

func newGenerator(o Options) *generator {
	o.Repositories, o.Roots, o.Others, o.Noise = max(o.Repositories, 0), max(o.Roots, 0), max(o.Others, 0), max(o.Noise, 0)
	o.Since = max(o.Since, 0)
	o.Until = max(o.Until, o.Since+1000)
	if o.RelaysEach <= 0 || o.RelaysEach > len(o.Relays) {
		o.RelaysEach = len(o.Relays)
	}
	if o.Sign == nil {
		o.Sign = genuine
	}
	g := &generator{o: o, people: map[int]*person{}}
	g.roots = shares(o.Repositories, o.Roots, func(i int) int { return 1 << 20 / (i + 1) })
	g.others = shares(o.Repositories, o.Others, func(i int) int { return g.roots[i] + 3 })
	return g
}

func genuine(key nostr.SecretKey, _ nostr.PubKey, e *nostr.Event) {
	if err := key.Sign(e, [32]byte{}); err != nil {
		panic("corpus: " + err.Error()) // a generated key signs a generated event
	}
}

// all yields every event of the corpus once.
func (g *generator) all() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for i := range g.o.Repositories {
			if w := g.writer(i, yield); !w.repository() {
				return
			}
		}
		g.noise(yield)
	}
}

// rng returns the source of randomness number n for one purpose. Callers draw only integers: floating point differs between machines.
func (g *generator) rng(purpose string, n int) *rand.Rand {
	b := binary.BigEndian.AppendUint64([]byte(purpose), g.o.Seed)
	h := sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(n)))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16])))
}

// shares splits total into n parts by weight. The parts add up to total: the first ones get what rounding leaves.
func shares(n, total int, weight func(int) int) []int {
	out := make([]int, n)
	sum := 0
	for i := range n {
		sum += weight(i)
	}
	left := total
	for i := range n {
		out[i] = int(uint64(total) * uint64(weight(i)) / uint64(sum))
		left -= out[i]
	}
	for i := 0; i < left && n > 0; i++ {
		out[i%n]++
	}
	return out
}

// skewed draws a number from 0 to n-1, small ones far more often.
func skewed(r *rand.Rand, n int) int { return r.IntN(max(1, n>>r.IntN(6))) }

// oneIn returns true once in n times.
func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// size draws a number of bytes. ranges has pairs of a percentage and an upper bound; each range begins at the bound before.
func size(r *rand.Rand, low int, ranges ...int) int {
	p := r.IntN(100)
	for i := 0; i < len(ranges); i += 2 {
		if p < ranges[i] {
			return low + r.IntN(ranges[i+1]-low)
		}
		p -= ranges[i]
		low = ranges[i+1]
	}
	return low
}
