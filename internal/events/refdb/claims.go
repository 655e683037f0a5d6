package refdb

import (
	"math"
	"sync"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// claims remembers announcements as they were read. The store never gives an entry's number to another event, unless it drops the
// entry's batch: then forget empties claims. Any number of goroutines may use claims.
type claims struct {
	mu sync.Mutex
	by map[store.Seq]claim
}

// claimsKept is how many announcements claims remembers, and claimKeys how many keys each of them may list: both bound the memory.
const (
	claimsKept = 20_000
	claimKeys  = 20
)

// claim is one announcement; readable is false for a malformed one.
type claim struct {
	refs.Announcement
	readable bool
	expires  int64 // unix time; the largest number where it does not expire
}

// read returns the announcement with that number, whose event get reads.
func (c *claims) read(seq store.Seq, get func(store.Seq) (*nostr.Event, error)) (claim, error) {
	if x, ok := c.get(seq); ok {
		return x, nil
	}
	e, err := get(seq)
	if err != nil {
		return claim{}, err
	}
	a, err := refs.ReadAnnouncement(e)
	x := claim{a, err == nil, math.MaxInt64}
	if at, ok := e.Expiration(); ok {
		x.expires = at
	}
	if len(a.Listed) > claimKeys {
		return x, nil
	}
	c.put(seq, x)
	return x, nil
}

func (c *claims) get(seq store.Seq) (claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.by[seq]
	return x, ok
}

func (c *claims) put(seq store.Seq, x claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= claimsKept {
		c.by = map[store.Seq]claim{}
	}
	c.by[seq] = x
}

func (c *claims) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = nil
}
