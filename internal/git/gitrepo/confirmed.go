package gitrepo

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// promisedFor is how long an object stays at least after somebody was told that it is here, so that they can act upon it.
const promisedFor = time.Hour

// Bounds of what is remembered. Of a repository with more than maxPromisesEach nothing goes for up to two hours; its packs are combined all the
// same. Where all repositories together have more than maxPromises, the one that has most is treated so, until that helps no more: then nothing
// goes anywhere.
const (
	maxPromises     = 100_000
	maxPromisesEach = 10_000
	worthCounting   = 100 // objects of the repository that has most: with fewer, looking for it each time would be much work for little room
)

// recentlyConfirmed remembers the objects of which somebody was told lately that they are here.
type recentlyConfirmed struct {
	// swap is held by whoever looks objects up, for reading, and while maintenance decides that objects may go.
	swap sync.RWMutex

	mu    sync.Mutex // guards what follows
	since time.Time  // of now
	now   promiseSet
	last  promiseSet // before since
}

type promiseSet struct {
	of   map[ID]*promised
	n    int // objects, and one for each repository
	full bool
}

// promised is what is remembered of one repository: the objects, or that there are too many.
type promised struct {
	ids map[gitwire.ObjectID]struct{}
	all bool // any object may be one
}

// note remembers that objects were said to be here.
func (c *recentlyConfirmed) note(repo ID, ids []gitwire.ObjectID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Sub(c.since) >= promisedFor || at.Before(c.since) {
		c.since, c.last, c.now = at, c.now, promiseSet{of: map[ID]*promised{}}
	}
	c.now.note(repo, ids)
}

func (s *promiseSet) note(repo ID, ids []gitwire.ObjectID) {
	if s.full {
		return
	}
	p := s.of[repo]
	if p == nil {
		if !s.room() {
			s.full = true
			return
		}
		p = &promised{ids: map[gitwire.ObjectID]struct{}{}}
		s.of[repo], s.n = p, s.n+1
	}
	for _, id := range ids {
		if _, ok := p.ids[id]; ok {
			continue
		}
		if len(p.ids) >= maxPromisesEach {
			s.count(p)
		}
		if !p.all && !s.room() {
			s.full = true
		}
		if p.all || s.full { // room may have counted p
			return
		}
		p.ids[id] = struct{}{}
		s.n++
	}
}

// room makes room where there is none: the repository with most objects counts as a whole. It returns false where there is none to be made.
func (s *promiseSet) room() bool {
	if s.n < maxPromises {
		return true
	}
	var most *promised
	for _, p := range s.of {
		if most == nil || len(p.ids) > len(most.ids) {
			most = p
		}
	}
	if len(most.ids) < worthCounting {
		return false
	}
	s.count(most)
	return s.n < maxPromises
}

// count counts a repository as a whole.
func (s *promiseSet) count(p *promised) {
	s.n -= len(p.ids)
	p.ids, p.all = nil, true
}

// of returns what is remembered of a repository; all is false where that is not all.
func (c *recentlyConfirmed) of(repo ID) (ids []gitwire.ObjectID, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = !c.now.full && !c.last.full
	for _, set := range []promiseSet{c.last, c.now} {
		if p := set.of[repo]; p != nil {
			all = all && !p.all
			for id := range p.ids {
				ids = append(ids, id)
			}
		}
	}
	return ids, all
}
