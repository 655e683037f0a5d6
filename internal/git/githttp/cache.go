package githttp

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	keepTime      = 5 * time.Minute  // since a pack was last asked for
	remembered    = 4096             // keys that the cache remembers as asked for once
	partyFraction = 4                // an address has at most one part in so many of the files being sent
	mostWorkers   = 4                // for whom a flight is tried, one after the other
	refusedWithin = 30 * time.Second // a process refused by then was refused for its party, and not as all wait for long
	mostKept      = 200              // packs that are kept, each in an open file
	mostSending   = 200              // packs that are being sent
)

// flightKey names an answer that is the same for all clients that ask for it; "" is an answer for one client alone.
type flightKey string

// reader is who reads a flight.
type reader struct {
	fair.Party
	worker string // for whom processes of git work that the reader has work; "" is the operator
}

// making writes an answer, as work for somebody.
type making func(ctx context.Context, worker string, w io.Writer) error

// entry is what the cache knows about a flight.
type entry struct {
	readers []reader
	running bool
	counted int64         // bytes of a flight that has ended
	kept    *list.Element // in the order of use
	used    time.Time
	gone    bool // its file is closed
}

// cache has all flights. It keeps a flight for a while after its end if several clients have asked for it.
type cache struct {
	dir    string
	most   int64 // bytes of kept flights
	room   *room
	faults *contain.Faults

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

func newCache(c Config) *cache {
	return &cache{
		dir: c.CacheDir, most: c.CacheBytes, room: newRoom(c), faults: c.Faults,
		byKey: map[flightKey]*flight{}, all: map[*flight]struct{}{}, asked: map[flightKey]*list.Element{},
	}
}

// join returns a reader of the answer with that key, and tells what the answer comes from. The answer is one that is there, or a new one, which
// produce writes. join fails with gitproc.ErrBusy where too much is being sent already.
func (c *cache) join(key flightKey, who reader, produce making) (*reading, Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := key != "" && c.note(key) || strings.HasPrefix(string(key), archiveKeys)
	if f := c.byKey[key]; f != nil && !f.yielded() {
		return c.read(f, who), c.share(f), nil
	}
	file, why := c.room.files.Take(who.Party, 1)
	if why != fair.Granted {
		return nil, Refused, gitproc.ErrBusy
	}
	ctx, stop := context.WithCancel(context.Background()) // the flight may outlive its first reader, and ends with its last
	f := &flight{key: key, stop: stop, ended: make(chan struct{}), hold: hold{room: c.room, file: file}, entry: entry{running: true}}
	file.Revocable(f.yield)
	c.all[f] = struct{}{}
	if key != "" {
		c.byKey[key] = f
	}
	c.misses++
	r := c.read(f, who)
	go c.run(ctx, f, again, who.worker, produce)
	return r, FromPack, nil
}

// read counts one more reader of a flight. The caller holds mu.
func (c *cache) read(f *flight, who reader) *reading {
	f.readers = append(f.readers, who)
	f.of(f.readers)
	return &reading{flight: f, cache: c, who: who}
}

// share returns what the answer of a flight comes from that was there. The caller holds mu.
func (c *cache) share(f *flight) Answer {
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

// run makes a flight, and keeps or drops it at its end.
func (c *cache) run(ctx context.Context, f *flight, again bool, worker string, produce making) {
	defer close(f.ended)
	defer f.stop()
	err := c.faults.Run("a pack", func() error {
		if err := f.open(c.dir); err != nil {
			return err
		}
		return c.make(ctx, f, worker, produce)
	})
	c.end(f, again, err)
}

// make has an answer written as work for its first reader. Where that one's party has to give way, or has no place among those that wait, another
// reader's has it made anew, and it goes on behind what is there: whoever asks for the same does not lose it by that.
func (c *cache) make(ctx context.Context, f *flight, worker string, produce making) error {
	var tried []string
	for began := time.Now(); ; {
		again := &again{f: f, have: f.length(), next: c.writer(ctx, f)}
		err := produce(ctx, worker, again)
		if err == nil && again.have > 0 {
			err = errDiffers // it has come out shorter
		}
		tried = append(tried, worker)
		refused := errors.Is(err, gitproc.ErrGaveWay) || errors.Is(err, gitproc.ErrBusy) && time.Since(began) < refusedWithin
		if !refused || errors.Is(err, errDiffers) || len(tried) == mostWorkers {
			return err
		}
		next, ok := c.other(f, tried)
		if !ok {
			return err
		}
		worker = next
	}
}

// other returns for whom else a flight is made than those who were tried.
func (c *cache) other(f *flight, tried []string) (worker string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range f.readers {
		if !slices.Contains(tried, r.worker) {
			return r.worker, true
		}
	}
	return "", false
}

// errDiffers says that an answer that was made anew is not what some have read of it.
var errDiffers = fmt.Errorf("%w: and the answer that was made anew differs", gitproc.ErrBusy)

// again writes an answer that is made anew behind what is there of it, which has to be the same.
type again struct {
	f        *flight
	at, have int64 // where it is, and how many bytes there are that are still to come out the same
	next     io.Writer
}

func (a *again) Write(p []byte) (n int, err error) {
	if n = int(min(int64(len(p)), a.have)); n > 0 {
		there := make([]byte, n)
		if _, err := a.f.file.ReadAt(there, a.at); err != nil || !bytes.Equal(there, p[:n]) {
			return 0, errDiffers
		}
		a.at, a.have = a.at+int64(n), a.have-int64(n)
		if n == len(p) {
			return n, nil
		}
	}
	m, err := a.next.Write(p[n:])
	return n + m, err
}

// writing is a writer.
type writing func(p []byte) (int, error)

func (w writing) Write(p []byte) (int, error) { return w(p) }

// writer returns the writer of a new answer, which waits for room. It fails where there is none, or the answer gives way. Until its first byte the
// answer takes no disk, as it may have waited long for a process.
func (c *cache) writer(ctx context.Context, f *flight) writing {
	return func(p []byte) (int, error) {
		if f.bytes == nil {
			c.begin(f)
		}
		if err := f.cover(ctx, int64(len(p)), c.dropOne); err != nil {
			return 0, err
		}
		return f.Write(p)
	}
}

// begin begins to count the disk of a flight.
func (c *cache) begin(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.account()
	f.of(f.readers)
}

func (c *cache) end(f *flight, again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.finish(err)
	f.running = false
	f.counted = f.length()
	if f.bytes != nil {
		f.bytes.Shrink(f.counted)
	}
	switch {
	case f.failed():
		c.forget(f)
	case again || len(f.readers) > 1:
		c.keep(f)
	}
}

// leave counts a reader out. It reports whether that was the last one, so that it stopped the flight.
func (c *cache) leave(f *flight, who reader) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(f.readers, who)
	f.readers = slices.Delete(f.readers, i, i+1)
	if len(f.readers) > 0 || !f.running {
		f.of(f.readers)
		return false
	}
	c.forget(f)
	f.stop()
	return true
}

// tidy closes the file of a flight that its last reader has left and that is not kept, or has given way.
func (c *cache) tidy(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.kept != nil && f.yielded() {
		c.drop(f)
	}
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
