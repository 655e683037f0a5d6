package refdb

import (
	"math"
	"sync"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// states remembers states as they were read, the ones that were asked for last: a repository of many maintainers has as many states with as many
// refs, and each push asks for all of them. An id is the hash of its event, so what it stands for never changes. Any number of goroutines may
// use states.
type states struct {
	mu sync.Mutex
	by *lru.Cache[nostr.ID, knownState]
}

// statesKept is how many bytes the remembered states may take. The names of refs are parts of the text of their event, so a state keeps all of
// that in memory, however few refs it has.
const statesKept = 16 << 20

// knownState is one state. Nobody changes it.
type knownState struct {
	state   *refs.State // nil for a malformed one: it was stored by a version that did not refuse it
	expires int64       // unix time; the largest number where it does not expire
}

// read returns the state with that id, whose event get reads. Of no event it returns none.
func (c *states) read(id nostr.ID, get func() (*nostr.Event, error)) (knownState, error) {
	if s, ok := c.get(id); ok {
		return s, nil
	}
	e, err := get()
	if err != nil || e == nil {
		return knownState{}, err
	}
	s := knownState{expires: math.MaxInt64}
	if at, ok := e.Expiration(); ok {
		s.expires = at
	}
	if read, err := refs.ReadState(e); err == nil {
		s.state = &read
	}
	c.put(id, s, stateCost(e))
	return s, nil
}

// stateCost is about how many bytes a state takes: its text, and the refs that it was read as.
func stateCost(e *nostr.Event) int { return 2*e.Size() + 512 }

func (c *states) get(id nostr.ID) (knownState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = lru.New[nostr.ID, knownState](statesKept)
	}
	return c.by.Get(id)
}

func (c *states) put(id nostr.ID, s knownState, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by.Put(id, s, cost)
}
