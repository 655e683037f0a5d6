// Package unsolicited tells what a relay was asked for from what it sends of its own accord: which events answer a request, which come
// late, and how many other messages the relay had reason for. Everything else counts against the relay. All types are values, and
// callers tell the time. Read Expectation first.
package unsolicited

import "github.com/graspd/graspd/internal/protocol/nostr"

// How many dropped events of one request do not count against the relay: events
// from outside the time that was asked for, and events of a request that has
// ended. A relay that ignores limits may have much under way.
const (
	mostOutside = 1000
	mostStale   = 100_000
)

// Expectation is what one request to a relay may bring. Only the goroutine that reads from the relay uses an Expectation.
type Expectation struct {
	asks    []answers
	over    bool
	dropped int // events dropped so far
}

// Expect returns the Expectation of a request that was sent.
func Expect(filters []nostr.Filter) *Expectation { return &Expectation{asks: newAnswers(filters)} }

// Over returns the Expectation of a request that has ended. It keeps no filters.
func Over() *Expectation { return &Expectation{over: true} }

// Class says how an event stands to the request for which it came.
type Class uint8

// The classes.
const (
	Unsolicited Class = iota // nobody asked for it: it counts against the relay
	Stale                    // graspd drops it without blaming the relay: it was under way, or lies outside the time that was asked for
	Expected                 // it answers the request
)

// Classify says how an event stands to the request.
func (q *Expectation) Classify(e *nostr.Event) Class {
	if q.over {
		return q.drop(mostStale)
	}
	outside := false
	for _, a := range q.asks {
		if !a.near(e) {
			continue
		}
		if a.within(e) {
			return Expected
		}
		outside = true
	}
	if outside {
		return q.drop(mostOutside)
	}
	return Unsolicited
}

// drop counts a dropped event: as Stale up to most events, then as Unsolicited.
func (q *Expectation) drop(most int) Class {
	if q.dropped++; q.dropped > most {
		return Unsolicited
	}
	return Stale
}
