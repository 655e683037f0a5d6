package peer

import (
	"time"

	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/want"
)

// forgetSwept unconfirms the swept items at the end of the connection: nobody followed them, so
// the mark says nothing about them.
func (f *following) forgetSwept() {
	for _, x := range f.side.Sweeps() {
		for _, it := range x.Items {
			f.confirmed.Drop(it)
		}
	}
	for _, it := range f.stored.swept() {
		f.confirmed.Drop(it)
	}
}

// tendSweeps asks for the stored events of swept items whose turn has come.
func (f *following) tendSweeps() {
	for _, x := range f.side.Due(f.now.Mono) {
		f.stored.askSwept(x.Lot, x.At)
	}
}

// swept returns the swept items whose stored events are being asked for, or will be next.
func (c *catchup) swept() (items []want.Item) {
	for _, g := range c.groups {
		if g.swept {
			items = append(items, g.Items...)
		}
	}
	return items
}

// turnOf returns how long it takes until a swept item is asked again and answered, as far as that is known: the interval, and
// what the last took, or the oldest that is under way takes already.
func (c *connection) turnOf(now time.Duration) time.Duration {
	took := c.side.Turn()
	for _, g := range c.groups {
		if g.swept && g.due > 0 {
			took = max(took, now-g.due)
		}
	}
	return livesubs.SweepInterval + took
}
