package gitrepo

import (
	"errors"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// shape is a sort of requests about a repository: these take about as much of the processor.
type shape struct {
	repo         ID
	work         string
	filter       gitwire.FilterKind
	haves, depth bool // the client has something; it wants a part of the history
}

const (
	costlyFor  = 10 * time.Minute
	wholeEvery = time.Minute
	mostCostly = 1024     // beyond, the one that was noted the longest ago is forgotten
	largeRepo  = 64 << 20 // bytes of packs, from which on requests are heavy
)

// What a request may take of the processor where one of its shape was too much. Most requests take less; so those stay possible, and the others end
// soon.
const (
	quickFree   = 2 * time.Second
	quickPerMiB = 250 * time.Millisecond
)

// costly remembers which requests ran into limits, so that the next ones like them cost less. In the zero value it remembers none.
type costly struct {
	mu sync.Mutex
	by map[shape]excess
}

// excess is what was too much in a request.
type excess struct {
	at     time.Time
	time   bool      // it took too much of the processor, or all memory that one may have
	whole  time.Time // when one of these was last run again with all of the processor time that its kind may have
	memory bool      // it needed more memory than was expected for the repository
}

// bound sets how much a request may take.
func (c *costly) bound(now time.Time, s shape, r *gitproc.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, known := c.by[s]
	if known && now.Sub(x.at) > costlyFor {
		delete(c.by, s)
		x, known = excess{}, false
	}
	r.Heavy = known || r.Reads >= largeRepo || s.filter == gitwire.FilterBlobLimit
	r.Greedy = x.memory
	if quick := quickFree + time.Duration(r.Reads>>20)*quickPerMiB; x.time && (r.CPU == 0 || r.CPU > quick) {
		r.CPU = quick
	}
}

// ended notes what was too much in a request that failed. short is that bound left it less time than its kind may have. Where it ran into what was
// only our guess, ended marks the *gitproc.Error as early.
func (c *costly) ended(now time.Time, s shape, r gitproc.Run, short bool, err error) {
	var failed *gitproc.Error
	var x excess
	switch {
	case !errors.As(err, &failed) || !failed.Ending.ByLimit():
		return
	case failed.Ending == gitproc.OutOfMemory && !r.Greedy:
		failed.Early, x.memory = true, true
	case failed.Ending == gitproc.OutOfTime && short:
		failed.Early = true
		return
	default:
		x.time = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[shape]excess{}
	}
	before := c.by[s]
	c.by[s] = excess{at: now, time: x.time || before.time, memory: x.memory || before.memory, whole: before.whole}
	if len(c.by) > mostCostly {
		c.forget()
	}
}

// again sets how much a request may take that failed by err, an early one, and reports whether it is to run again. All of the time has one of a shape
// within wholeEvery: so many clients with such requests do not take what costly is to save.
func (c *costly) again(now time.Time, s shape, r *gitproc.Run, cpu time.Duration, err error) bool {
	var failed *gitproc.Error
	if !errors.As(err, &failed) || !failed.Early {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Heavy = true
	x, known := c.by[s]
	switch {
	case failed.Ending == gitproc.OutOfMemory:
		r.Greedy = true
		return true
	case now.Sub(x.whole) < wholeEvery:
		return false
	}
	r.CPU = cpu
	if x.whole = now; known {
		c.by[s] = x
	}
	return true
}

// forget makes room for one more shape. The caller holds mu.
func (c *costly) forget() {
	var oldest shape
	first := true
	for s, x := range c.by {
		if first || x.at.Before(c.by[oldest].at) {
			oldest, first = s, false
		}
	}
	delete(c.by, oldest)
}
