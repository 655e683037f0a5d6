package gitrepo

import (
	"container/list"
	"errors"
	"io/fs"
	"sync"
)

// packSet is the indexes of all packs that a repository had at one moment.
type packSet struct {
	repo  ID
	once  sync.Once // guards the two below until it is done
	packs []*index
	err   error

	uses    int // guarded by indexes.mu, as the rest
	counted int // files of it that count as open
	dropped bool
	loading bool
	torn    bool // the packs changed while their indexes were opened, so these may be of no one moment
}

func (s *packSet) close() error {
	var errs []error
	for _, x := range s.packs {
		errs = append(errs, x.file.Close())
	}
	return errors.Join(errs...)
}

// files returns how many files stay open.
func (s *packSet) files() (n int) {
	for _, x := range s.packs {
		if _, again := x.file.(reopened); !again {
			n++
		}
	}
	return n
}

// rest returns those of sums that no pack has. sums are sorted.
func (s *packSet) rest(sums []sum) (_ []sum, err error) {
	for _, x := range s.packs {
		if len(sums) == 0 {
			break
		}
		if sums, err = x.rest(sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// maxSets bounds the sets beside the bound on open files: a repository without packs has no files to count.
const maxSets = 4096

// indexes keeps the indexes of those repositories open that were asked about last.
type indexes struct {
	load func(ID) ([]*index, error)
	most int

	mu    sync.Mutex // guards what follows
	open  int
	sets  map[ID]*list.Element // of order
	order list.List            // of *packSet, the last one used first
}

func newIndexes(most int, load func(ID) ([]*index, error)) *indexes {
	return &indexes{load: load, most: most, sets: map[ID]*list.Element{}}
}

// use calls do with the packs of a repository. Where these change while their indexes are opened, use opens them anew, and may call do again.
func (c *indexes) use(repo ID, do func(*packSet) error) error {
	for {
		if torn, err := c.try(repo, do); !torn {
			return err
		}
	}
}

// try is use, but reports true where the packs have changed while their indexes were opened.
func (c *indexes) try(repo ID, do func(*packSet) error) (torn bool, err error) {
	c.mu.Lock()
	e, ok := c.sets[repo]
	if ok {
		c.order.MoveToFront(e)
	} else {
		e = c.order.PushFront(&packSet{repo: repo, loading: true})
		c.sets[repo] = e
	}
	set := e.Value.(*packSet)
	set.uses++
	c.mu.Unlock()

	set.once.Do(func() {
		set.packs, set.err = c.load(repo)
		c.loaded(set)
	})
	if err = set.err; err == nil && !set.torn {
		err = do(set)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	set.uses--
	if set.err != nil {
		c.dropSet(set) // the next one may have more luck
	}
	torn = set.torn || set.dropped && errors.Is(err, fs.ErrNotExist) // an index that was to be opened again has gone
	return torn, errors.Join(err, c.closeUnused(set))
}

// loaded counts the files of a set, and lets go of the sets that were not used for longest.
func (c *indexes) loaded(set *packSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set.loading, set.torn = false, set.dropped
	if !set.dropped {
		set.counted = set.files()
		c.open += set.counted
	}
	for e := c.order.Back(); e != c.order.Front() && (c.open > c.most || c.order.Len() > maxSets); {
		last := e.Value.(*packSet)
		if e = e.Prev(); !last.loading {
			c.dropSet(last)
		}
	}
}

// drop forgets the indexes of a repository whose packs have changed.
func (c *indexes) drop(repo ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.sets[repo]; ok {
		c.dropSet(e.Value.(*packSet))
	}
}

// dropSet takes a set out. Its files are closed when nobody uses it.
func (c *indexes) dropSet(set *packSet) {
	if set.dropped {
		return
	}
	set.dropped = true
	c.open -= set.counted
	c.order.Remove(c.sets[set.repo])
	delete(c.sets, set.repo)
	_ = c.closeUnused(set) // files that were only read
}

func (c *indexes) closeUnused(set *packSet) error {
	if !set.dropped || set.uses > 0 {
		return nil
	}
	err := set.close()
	set.packs = nil
	return err
}

// close closes all files.
func (c *indexes) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.order.Len() > 0 {
		c.dropSet(c.order.Back().Value.(*packSet))
	}
	return nil
}
