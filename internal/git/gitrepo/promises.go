package gitrepo

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// promised is how long an object stays at least after somebody was told that it is here, so that they can act upon it.
const promised = time.Hour

// maxPromises bounds what is remembered; beyond that, nothing goes.
const maxPromises = 100_000

// promises remembers the objects of which somebody was told lately that they are here.
type promises struct {
	// swap is held by whoever looks objects up, for reading, and while maintenance decides that objects may go.
	swap sync.RWMutex

	mu    sync.Mutex // guards what follows
	since time.Time  // of now
	now   promiseSet
	last  promiseSet // before since
}

type promiseSet struct {
	ids  map[ID]map[gitwire.ObjectID]struct{}
	n    int
	full bool
}

// note remembers that objects were said to be here.
func (c *promises) note(repo ID, ids []gitwire.ObjectID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Sub(c.since) >= promised || at.Before(c.since) {
		c.since, c.last, c.now = at, c.now, promiseSet{ids: map[ID]map[gitwire.ObjectID]struct{}{}}
	}
	set := c.now.ids[repo]
	for _, id := range ids {
		if _, ok := set[id]; ok {
			continue
		}
		if c.now.n >= maxPromises {
			c.now.full = true
			return
		}
		if set == nil {
			set = map[gitwire.ObjectID]struct{}{}
			c.now.ids[repo] = set
		}
		set[id] = struct{}{}
		c.now.n++
	}
}

// of returns what is remembered of a repository; all is false where that is not all.
func (c *promises) of(repo ID) (ids []gitwire.ObjectID, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range []promiseSet{c.last, c.now} {
		for id := range set.ids[repo] {
			ids = append(ids, id)
		}
	}
	return ids, !c.now.full && !c.last.full
}
