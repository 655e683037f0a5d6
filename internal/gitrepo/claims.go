package gitrepo

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/gitwire"
)

// claimed is for how long, at least, what was said to be here does not go, so that whoever asked can act upon it.
const claimed = time.Hour

// maxClaims bounds what is remembered; beyond that, nothing goes.
const maxClaims = 100_000

// claims is what was said to be here, of late.
type claims struct {
	// swap is held by whoever looks objects up, for reading, and while maintenance decides that objects may go.
	swap sync.RWMutex

	mu    sync.Mutex // guards what follows
	since time.Time  // of now
	now   claimSet
	last  claimSet // before since
}

type claimSet struct {
	ids  map[ID]map[gitwire.ObjectID]struct{}
	n    int
	full bool
}

// note remembers that objects were said to be here.
func (c *claims) note(repo ID, ids []gitwire.ObjectID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Sub(c.since) >= claimed || at.Before(c.since) {
		c.since, c.last, c.now = at, c.now, claimSet{ids: map[ID]map[gitwire.ObjectID]struct{}{}}
	}
	set := c.now.ids[repo]
	for _, id := range ids {
		if _, ok := set[id]; ok {
			continue
		}
		if c.now.n >= maxClaims {
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
func (c *claims) of(repo ID) (ids []gitwire.ObjectID, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range []claimSet{c.last, c.now} {
		for id := range set.ids[repo] {
			ids = append(ids, id)
		}
	}
	return ids, !c.now.full && !c.last.full
}
