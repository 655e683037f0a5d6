// Package likeness judges whether a relay holds nearly what is held here, and little else, so that it is worth asking it for everything at
// once. It knows how comparisons of everything ended, what a live REQ for everything brings, and whether what is wanted still grows. Its caller
// compares, follows, and tells the time, as readings of the steady clock. Read Likeness.
package likeness

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
)

const (
	slack       = 1000             // events in which both sides may differ, besides a twentieth of ours
	leastJudged = 500              // live events, of which most must be wanted
	mostLost    = 3                // connections that end before a comparison does
	rest        = 15 * time.Second // what is wanted hardly grows for so long before anything is found out
)

// MayDiffer returns in how many events both sides may differ, where so many are here.
func MayDiffer(here int) int { return slack + here/20 }

// Likeness is what is known of one relay. It outlives connections. Of the zero value nothing is known.
type Likeness struct {
	alike bool
	after time.Duration // it is not tried before
	lost  int           // connections in a row that ended before a comparison did
}

// Recalled is that of a relay of which it was known before whether it is alike.
func Recalled(alike bool) Likeness { return Likeness{alike: alike} }

// Alike says whether the relay is known to hold nearly what is held here.
func (l *Likeness) Alike() bool { return l.alike }

// Due says whether the relay may be asked for everything, as far as is known.
func (l *Likeness) Due(now time.Duration) bool { return now >= l.after }

// Try records that it is found out now: if that comes to no end, it is not tried again before the time again.
func (l *Likeness) Try(again time.Duration) { l.after = again }

// Proven records that a comparison of everything came to its end. It reports whether that is news.
func (l *Likeness) Proven() (news bool) {
	news = !l.alike
	*l = Likeness{alike: true}
	return news
}

// Disproven records that it is not worth it until some time. It reports whether that is news.
func (l *Likeness) Disproven(until time.Duration) (news bool) {
	news = l.alike
	*l = Likeness{after: max(l.after, until)}
	return news
}

// Lost counts a connection that ended before a comparison of everything did. It reports whether too many have in a row.
func (l *Likeness) Lost() bool {
	l.lost++
	return l.lost >= mostLost
}

// Stream counts what a live REQ for everything brings, some hundreds at a time. The zero value has seen nothing.
type Stream struct {
	events int
	idle   int // events among them that nobody wants
}

// Brought takes the verdict on one event. It reports whether most is what nobody wants. What another relay brought before tells nothing.
func (s *Stream) Brought(out policy.Outcome) (idle bool) {
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
	*s = Stream{}
	return idle
}

// Growth tells when what is wanted has come to rest. What is confirmed first leads to more: each repository to its root events.
type Growth struct {
	items  int // were wanted when it was looked at
	calmAt time.Duration
}

// Calm takes how many items are wanted now, and reports whether that has hardly grown for a while.
func (g *Growth) Calm(items int, now time.Duration) bool {
	if items > g.items+g.items/20 {
		g.items, g.calmAt = items, now+rest
	} else {
		g.items = min(g.items, items)
	}
	return now >= g.calmAt
}

// Wake names the time at which it will have, if nothing grows until then; else backoff.Never.
func (g *Growth) Wake(now time.Duration) time.Duration { return backoff.Later(g.calmAt, now) }
