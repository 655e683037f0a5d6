package peer

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
)

const (
	leastDiffer = 1000             // events in which both sides may differ, besides a twentieth of ours
	leastJudged = 500              // live events, of which most must be wanted
	mostLost    = 3                // connections that end before a comparison does
	growthRest  = 15 * time.Second // what is wanted hardly grows for so long before anything is found out
)

// tolerance returns in how many events both sides may differ, where so many are here.
func tolerance(here int) int { return leastDiffer + here/20 }

// similarity tells whether a relay holds nearly what is held here, and little else, so that it is worth asking it for everything at once. It
// outlives connections. Of the zero value nothing is known.
type similarity struct {
	alike bool          // the relay is known to hold nearly what is held here
	after time.Duration // it is not tried before, in case the try under way comes to no end
	lost  int           // connections in a row that ended before a comparison did
}

// due says whether the relay may be asked for everything, as far as is known.
func (l *similarity) due(now time.Duration) bool { return now >= l.after }

// confirm records that a comparison of everything came to its end. It reports whether that is news.
func (l *similarity) confirm() (news bool) {
	news = !l.alike
	*l = similarity{alike: true}
	return news
}

// reject records that it is not worth it until some time. It reports whether that is news.
func (l *similarity) reject(until time.Duration) (news bool) {
	news = l.alike
	*l = similarity{after: max(l.after, until)}
	return news
}

// countLost counts a connection that ended before a comparison of everything did. It reports whether too many have in a row.
func (l *similarity) countLost() bool {
	l.lost++
	return l.lost >= mostLost
}

// stream counts what a live REQ for everything brings, some hundreds at a time. The zero value has seen nothing.
type stream struct {
	events int
	idle   int // events among them that nobody wants
}

// count counts an event by the verdict on it. It reports whether most is what nobody wants. What another relay brought before tells nothing.
func (s *stream) count(out policy.Outcome) (idle bool) {
	switch out {
	case policy.Duplicate:
		return false
	case policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer, policy.Discard:
		s.idle++
	}
	s.events++
	if s.events < leastJudged {
		return false
	}
	idle = s.idle > s.events/2
	*s = stream{}
	return idle
}

// growth tells when what is wanted has come to rest. What is confirmed first leads to more: each repository to its root events.
type growth struct {
	items  int // were wanted when it was looked at
	calmAt time.Duration
}

// calm reports whether items, how many are wanted now, has hardly grown for a while.
func (g *growth) calm(items int, now time.Duration) bool {
	if items > g.items+g.items/20 {
		g.items, g.calmAt = items, now+growthRest
	} else {
		g.items = min(g.items, items)
	}
	return now >= g.calmAt
}

// wake names the time at which it will have, if nothing grows until then; else backoff.Never.
func (g *growth) wake(now time.Duration) time.Duration { return backoff.Later(g.calmAt, now) }
