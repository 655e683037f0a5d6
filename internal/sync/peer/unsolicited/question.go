// Package unsolicited tells what a relay was asked for from what it sends of its own accord: which events answer a request, which come
// late, and how many other messages the relay had reason for. Everything else counts against the relay. All types are values, and
// callers tell the time. Read Question first.
package unsolicited

import "github.com/graspd/graspd/internal/protocol/nostr"

// How many dropped events of one request do not count against the relay: events
// from outside the time that was asked for, and events of a request that has
// ended. A relay that ignores limits may have much under way.
const (
	mostOutside = 1000
	mostLate    = 100_000
)

// Question is one request to a relay. Only the goroutine that reads from the relay uses a Question.
type Question struct {
	asks    []answers
	over    bool
	dropped int // events dropped so far
}

// Ask returns the Question of a request that was sent.
func Ask(filters []nostr.Filter) *Question { return &Question{asks: newAnswers(filters)} }

// Over returns the Question of a request that has ended. It keeps no filters.
func Over() *Question { return &Question{over: true} }

// Answer says how an event stands to the request for which it came.
type Answer uint8

// The answers.
const (
	Unasked Answer = iota // nobody asked for it: it counts against the relay
	Late                  // graspd drops it without blaming the relay: it was under way, or lies outside the time that was asked for
	Asked                 // it answers the request
)

// Hear says how an event stands to the question.
func (q *Question) Hear(e *nostr.Event) Answer {
	if q.over {
		return q.drop(mostLate)
	}
	outside := false
	for _, a := range q.asks {
		if !a.near(e) {
			continue
		}
		if a.within(e) {
			return Asked
		}
		outside = true
	}
	if outside {
		return q.drop(mostOutside)
	}
	return Unasked
}

// drop counts a dropped event: as Late up to most events, then as Unasked.
func (q *Question) drop(most int) Answer {
	if q.dropped++; q.dropped > most {
		return Unasked
	}
	return Late
}
