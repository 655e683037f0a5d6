package store

// Bounds of the names of changed rows in memory.
const (
	changesKept  = 8192
	changesBytes = 1 << 20
)

// changes has the names of the rows that commits have changed lately, the newest last. Guarded by Store.mu.
type changes struct {
	names []string
	last  uint64 // the number of the newest; those of a store begin at 2, so that 1 is before all
	bytes int
	wake  chan struct{} // closed when there are more
}

func newChanges() changes { return changes{last: 1, wake: make(chan struct{})} }

func (c *changes) push(names []string) {
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		c.bytes += len(n)
	}
	c.names, c.last = append(c.names, names...), c.last+uint64(len(names))
	drop := 0
	for c.bytes > changesBytes || len(c.names)-drop > changesKept {
		c.bytes -= len(c.names[drop])
		c.names[drop] = ""
		drop++
	}
	c.names = c.names[drop:]
	close(c.wake)
	c.wake = make(chan struct{})
}

// Changes is the feed of rows. It returns the names of the rows that commits have changed after the change with that number, oldest first,
// and the number to go on from. all reports that memory does not reach back so far, as for a reader that begins with 0: it looks at all rows
// that concern it, on a View that it takes after that. The channel is closed at the next commit that changes a row. Nothing of this is on
// disk.
func (s *Store) Changes(after uint64) (names []string, upTo uint64, all bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.rowsChanged
	first := c.last - uint64(len(c.names)) // the number before that of names[0]
	if after == 0 || after < first || after > c.last {
		return nil, c.last, true, c.wake
	}
	return append(names, c.names[after-first:]...), c.last, false, c.wake
}

// Tell adds a name to those that Changes returns once the batch is committed, as SetRow does with the name of its row.
func (d *draft) Tell(name string) {
	if n := len(d.told); n == 0 || d.told[n-1] != name {
		d.told = append(d.told, name)
	}
}
