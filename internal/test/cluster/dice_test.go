package cluster_test

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// dice is the chance of one process, client or other part of a world. Each has its own, so that what one does hardly changes what happens to others
// when a seed is lived again.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64, whose string) *dice {
	h := fnv.New64a()
	h.Write([]byte(whose))
	return &dice{r: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// roll returns a number from 0 to n-1.
func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// some returns some time, below most.
func (d *dice) some(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.r.Int64N(int64(most)))
}

// while returns a time of any order of magnitude from 10 ms to 40 s.
func (d *dice) while() time.Duration { return d.some(10 * time.Millisecond << d.roll(13)) }
