package peer

import (
	"strconv"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/status"
)

// desk is what all parts of a peer work at: what is configured, the time of the step under way, and what that step has to
// have done so far. Only Step sets the time and begins the list.
type desk struct {
	cfg  Config
	now  backoff.Now
	out  []Effect
	subs uint64 // how many requests got a name

	counted status.Counters
}

// start clears the desk for a step at the time now.
func (d *desk) start(now backoff.Now) {
	clear(d.out) // what was asked last is large
	d.out, d.now = d.out[:0], now
}

func (d *desk) effect(e Effect) { d.out = append(d.out, e) }

func (d *desk) report(l Level, text string, args ...any) {
	d.effect(Report{Level: l, Text: text, Args: args})
}

// newSub names a request: no name is used twice, however often the relay is connected to.
func (d *desk) newSub(prefix string) string {
	d.subs++
	return prefix + strconv.FormatUint(d.subs, 36)
}
