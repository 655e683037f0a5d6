package githttp

import (
	"container/list"
	"context"
	"io"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	keepTime      = 5 * time.Minute // since a pack was last asked for
	remembered    = 4096            // keys that the cache remembers as asked for once
	partyFraction = 4               // one party has at most one part in so many of the bytes being sent, and of their files
	mostKept      = 200             // packs that are kept, each in an open file
	mostSending   = 200             // packs that are being sent
)

// flightKey names an answer that is the same for all clients that ask for it; "" is an answer for one client alone.
type flightKey string

// entry is what the cache knows about a flight.
type entry struct {
	readers int
	running bool
	counted int64         // bytes of a flight that has ended
	kept    *list.Element // in the order of use
	used    time.Time
	gone    bool // its file is closed
}

// cache has all flights. It keeps a flight for a while after its end if several clients have asked for it.
type cache struct {
	dir      string
	most     int64 // bytes of kept flights
	mostSent int64 // bytes of all flights, beyond which no new one begins
	faults   *contain.Faults

	mu      sync.Mutex // guards the fields below, and the entries
	byKey   map[flightKey]*flight
	all     map[*flight]struct{}
	kept    list.List // of *flight that have ended, the one used last in front
	bytes   int64     // of kept
	asked   map[flightKey]*list.Element
	recent  list.List // of the keys in asked, the last one in front
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

// join returns a reader of the answer with that key, and tells what the answer comes from. The answer is one that is there, or a new one, which
// produce writes. join fails with gitproc.ErrBusy where too much is being sent already.
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
	ctx, stop := context.WithCancel(context.Background()) // the flight may outlive its first reader, and ends with its last
	f := &flight{key: key, party: party, stop: stop, ended: make(chan struct{}), entry: entry{readers: 1, running: true}}
	c.all[f] = struct{}{}
	if key != "" {
		c.byKey[key] = f
	}
	c.misses++
	go c.run(ctx, f, again, produce)
	return &reading{flight: f, cache: c}, FromPack, nil
}

// share counts one more reader of a flight, and returns what its answer comes from. The caller holds mu.
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

// note remembers that a client has asked for a key, and reports whether one had before. The caller holds mu.
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

// full reports whether so much is being sent that nothing new may begin. The caller holds mu.
func (c *cache) full(party string) bool {
	var all, theirs sending
	for f := range c.all {
		if n := f.length(); n > 0 && f.readers > 0 { // a kept one goes when its room is needed
			all.add(n)
			if f.party == party {
				theirs.add(n)
			}
		}
	}
	return all.most(c.mostSent, mostSending) || party != "" && theirs.most(c.mostSent/partyFraction, mostSending/partyFraction)
}

// sending is what packs that are being sent take: their bytes, and an open file each.
type sending struct {
	bytes int64
	files int
}

func (s *sending) add(n int64) { s.bytes, s.files = s.bytes+n, s.files+1 }

func (s *sending) most(bytes int64, files int) bool { return s.bytes >= bytes || s.files >= files }

// run makes a flight, and keeps or drops it at its end.
func (c *cache) run(ctx context.Context, f *flight, again bool, produce func(ctx context.Context, w io.Writer) error) {
	defer close(f.ended)
	defer f.stop()
	err := c.faults.Run("a pack", func() error {
		if err := f.open(c.dir); err != nil {
			return err
		}
		return produce(ctx, &starting{cache: c, flight: f})
	})
	c.end(f, again, err)
}

// starting is the writer of a new answer. Before the first byte it looks once more whether too much is being sent: many answers may have waited
// for a process together, when they had no bytes that count.
type starting struct {
	cache  *cache
	flight *flight
	begun  bool
}

// Write appends to the answer. At the first byte it fails with gitproc.ErrBusy where too much is being sent.
func (w *starting) Write(p []byte) (int, error) {
	if !w.begun {
		w.cache.mu.Lock()
		full := w.cache.full(w.flight.party)
		w.cache.mu.Unlock()
		if full {
			return 0, gitproc.ErrBusy
		}
		w.begun = true
	}
	return w.flight.Write(p)
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

// leave counts a reader out. It reports whether that was the last one, so that it stopped the flight.
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

// tidy closes the file of a flight that its last reader has left and that is not kept.
func (c *cache) tidy(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispose(f)
}

// CacheStats has the figures of shared packs.
type CacheStats struct {
	Hits, Shared, Misses, Evicted uint64 // since the start: answers from kept packs, from packs under way, by new packs; kept packs dropped for room
	Entries                       int    // kept packs
	Bytes                         int64  // of kept packs
	Flights                       int    // packs being made or sent, or kept
}

func (c *cache) stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{c.hits, c.shared, c.misses, c.evicted, c.kept.Len(), c.bytes, len(c.all)}
}

// keyOf returns the key of a fetch; "" if its answer is for one client alone.
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
