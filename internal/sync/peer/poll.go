package peer

import (
	"time"

	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/want"
)

// forgetPolled unconfirms the polled items at the end of the connection: nobody followed them, so
// the mark says nothing about them.
func (f *following) forgetPolled() {
	for _, x := range f.planner.Polls() {
		for _, it := range x.Items {
			f.confirmed.Drop(it)
		}
	}
	for _, it := range f.stored.polled() {
		f.confirmed.Drop(it)
	}
}

// tendPolls asks for the stored events of polled items whose turn has come.
func (f *following) tendPolls() {
	for _, x := range f.planner.Due(f.now.Mono) {
		f.stored.askPolled(x.Lot, x.At)
	}
}

// polled returns the polled items whose stored events are being asked for, or will be next.
func (c *catchup) polled() (items []want.Item) {
	for _, g := range c.groups {
		if g.polled {
			items = append(items, g.Items...)
		}
	}
	return items
}

// turnOf returns how long it takes until a polled item is asked again and answered, as far as that is known: the interval, and
// what the last took, or the oldest that is under way takes already.
func (c *connection) turnOf(now time.Duration) time.Duration {
	took := c.planner.PollTook()
	for _, g := range c.groups {
		if g.polled && g.due > 0 {
			took = max(took, now-g.due)
		}
	}
	return livesubs.PollInterval + took
}
