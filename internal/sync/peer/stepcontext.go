package peer

import (
	"strconv"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/status"
)

// stepContext is what all parts of a peer work at: what is configured, the time of the step under way, and what that step has to
// have done so far. Only Step sets the time and begins the list.
type stepContext struct {
	cfg  Config
	now  backoff.Now
	out  []Effect
	subs uint64 // how many requests got a name

	counted status.Counters
}

// start clears the context for a step at the time now.
func (s *stepContext) start(now backoff.Now) {
	clear(s.out) // what was asked last is large
	s.out, s.now = s.out[:0], now
}

func (s *stepContext) effect(e Effect) { s.out = append(s.out, e) }

func (s *stepContext) report(l Level, text string, args ...any) {
	s.effect(Report{Level: l, Text: text, Args: args})
}

// newSub names a request: no name is used twice, however often the relay is connected to.
func (s *stepContext) newSub(prefix string) string {
	s.subs++
	return prefix + strconv.FormatUint(s.subs, 36)
}
