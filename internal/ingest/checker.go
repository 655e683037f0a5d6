package ingest

import "graspd/internal/nostr"

const (
	batchMost = 128 // signatures in one batch; of more each takes hardly less time, and others wait longer
	batchFew  = 4   // fewer are verified one by one
	// provenAfter is how many genuine events in a row let a source into batches. A forgery makes its whole batch be
	// verified one by one after all, in vain before: that costs less than these do, so what forgers add is bounded by
	// what they send.
	provenAfter = batchMost
)

// batcher is a nostr.Verifier that verifies many events in less time than one by one, with the same verdicts.
type batcher interface {
	Batch() func(events []*nostr.Event, ok []bool)
}

// checker is one verifier with what it has in its hands: items that waited when it looked. It never waits for more of them.
type checker struct {
	door     *Door
	single   nostr.Checker
	batch    func([]*nostr.Event, []bool) // nil when the door's verifier takes one at a time
	items    []*item
	together []*item // those in a batch
	events   []*nostr.Event
	ok       []bool
}

func newChecker(d *Door) *checker {
	c := &checker{door: d, single: nostr.Checker{Verifier: d.verifier}}
	if b, can := d.verifier.(batcher); can {
		c.batch = b.Batch()
	}
	return c
}

// take waits for items, and reports whether there are any before the door stops.
func (c *checker) take() bool {
	most := 1
	if c.batch != nil {
		most = batchMost
	}
	clear(c.items)
	c.items = c.door.takeUnchecked(c.items[:0], most)
	return len(c.items) > 0
}

// check recognises or verifies each item: together those whose sources are proven, the others one by one.
func (c *checker) check() {
	c.together = c.together[:0]
	for _, it := range c.items {
		switch {
		case c.door.recognised(it):
		case c.batch != nil && it.src.genuine.Load() >= provenAfter:
			c.together = append(c.together, it)
		default:
			c.alone(it)
		}
	}
	if len(c.together) >= batchFew {
		c.inBatch()
	} else {
		for _, it := range c.together {
			c.alone(it)
		}
	}
	clear(c.together)
}

func (c *checker) alone(it *item) { c.door.judge(it, c.single.Check(it.event)) }

func (c *checker) inBatch() {
	batch := c.together[:0]
	for _, it := range c.together {
		if err := c.single.CheckID(it.event); err != nil {
			c.door.judge(it, err)
			continue
		}
		batch = append(batch, it)
		c.events = append(c.events, it.event)
		c.ok = append(c.ok, false)
	}
	c.batch(c.events, c.ok)
	for i, it := range batch {
		var err error
		if !c.ok[i] {
			err = nostr.ErrSig
		}
		c.door.judge(it, err)
	}
	clear(c.events)
	c.events, c.ok = c.events[:0], c.ok[:0]
}
