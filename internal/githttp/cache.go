package githttp

import (
	"container/list"
	"context"
	"io"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitwire"
)

const (
	keepTime      = 5 * time.Minute // since a pack was last asked for
	remembered    = 4096            // keys of which it is known that somebody has asked
	partyFraction = 4               // one party's share of what is being sent
)

// flightKey names an answer that is the same for all who ask for it; "" is for one client alone.
type flightKey string

// entry is what the cache knows of a flight.
type entry struct {
	readers int
	running bool
	counted int64         // bytes, of one that has ended
	kept    *list.Element // in the order of use
	used    time.Time
	gone    bool // nothing of it is left
}

// cache has all flights. One that several have asked for is kept for a while after it has ended.
type cache struct {
	dir      string
	most     int64 // bytes that are kept
	mostSent int64 // bytes of all flights, beyond which none begins
	faults   *contain.Faults

	mu      sync.Mutex // guards what follows, and the entries
	byKey   map[flightKey]*flight
	all     map[*flight]struct{}
	kept    list.List // of *flight that have ended, the one that was used last in front
	bytes   int64     // of those
	asked   map[flightKey]*list.Element
	recent  list.List // of the keys of asked, the last in front
	expiry  *time.Timer
	closed  bool
	hits    uint64
	shared  uint64
	misses  uint64
	evicted uint64
}

func newCache(dir string, most, mostSent int64, faults *contain.Faults) *cache {
	return &cache{
		dir: dir, most: most, mostSent: mostSent, faults: faults,
		byKey: map[flightKey]*flight{}, all: map[*flight]struct{}{}, asked: map[flightKey]*list.Element{},
	}
}

// join gives the answer of that key: one that is there, or one that produce is to write. It fails with gitproc.ErrBusy where too much is
// being sent already.
func (c *cache) join(key flightKey, party string, produce func(ctx context.Context, w io.Writer) error) (*reading, Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := key != "" && c.note(key)
	if f := c.byKey[key]; f != nil {
		return &reading{flight: f, cache: c}, c.share(f), nil
	}
	if c.full(party) {
		return nil, Refused, gitproc.ErrBusy
	}
	ctx, stop := context.WithCancel(context.Background()) // it may outlive who asks first, and ends with who leaves last
	f := &flight{key: key, party: party, stop: stop, ended: make(chan struct{}), entry: entry{readers: 1, running: true}}
	c.all[f] = struct{}{}
	if key != "" {
		c.byKey[key] = f
	}
	c.misses++
	go c.run(ctx, f, again, produce)
	return &reading{flight: f, cache: c}, FromPack, nil
}

// share is called with mu held.
func (c *cache) share(f *flight) Answer {
	f.readers++
	if f.running {
		c.shared++
		return FromFlight
	}
	c.hits++
	c.keep(f)
	return FromCache
}

// note remembers that somebody has asked, and reports whether somebody had before. It is called with mu held.
func (c *cache) note(key flightKey) bool {
	if e := c.asked[key]; e != nil {
		c.recent.MoveToFront(e)
		return true
	}
	c.asked[key] = c.recent.PushFront(key)
	if c.recent.Len() > remembered {
		delete(c.asked, c.recent.Remove(c.recent.Back()).(flightKey))
	}
	return false
}

// full reports whether so much is being sent that nothing new may begin. It is called with mu held.
func (c *cache) full(party string) bool {
	var sent, theirs int64
	for f := range c.all {
		if f.readers == 0 { // kept, and gone when there is need
			continue
		}
		n := f.length()
		sent += n
		if f.party == party {
			theirs += n
		}
	}
	return sent >= c.mostSent || party != "" && theirs >= c.mostSent/partyFraction
}

// run has a flight made, and sees to what becomes of it.
func (c *cache) run(ctx context.Context, f *flight, again bool, produce func(ctx context.Context, w io.Writer) error) {
	defer close(f.ended)
	defer f.stop()
	err := c.faults.Run("a pack", func() error {
		if err := f.open(c.dir); err != nil {
			return err
		}
		return produce(ctx, f)
	})
	c.end(f, again, err)
}

func (c *cache) end(f *flight, again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.finish(err)
	f.running = false
	f.counted = f.length()
	switch {
	case err != nil:
		c.forget(f)
	case again || f.readers > 1:
		c.keep(f)
	}
}

// leave counts a reader out, and reports whether the flight was stopped for want of readers.
func (c *cache) leave(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.readers--
	if f.readers > 0 || !f.running {
		return false
	}
	c.forget(f)
	f.stop()
	return true
}

// tidy sees to a flight that somebody has left.
func (c *cache) tidy(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispose(f)
}

// CacheStats are figures of the packs that are shared.
type CacheStats struct {
	Hits, Shared, Misses, Evicted uint64 // since the start: kept ones, those under way, new ones, and dropped for want of place
	Entries                       int    // kept
	Bytes                         int64  // of those
	Flights                       int    // being made or sent, or kept
}

func (c *cache) stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{c.hits, c.shared, c.misses, c.evicted, c.kept.Len(), c.bytes, len(c.all)}
}

// keyOf is the key of a fetch, and "" if it has none.
func keyOf(repo *Repository, f *gitwire.Fetch) flightKey {
	k, ok := f.Key()
	if !ok {
		return ""
	}
	key := make([]byte, 0, len(repo.Dir)+8+len(k))
	for shift := 0; shift < 64; shift += 8 {
		key = append(key, byte(repo.Generation>>shift))
	}
	return flightKey(append(append(key, k[:]...), repo.Dir...))
}
