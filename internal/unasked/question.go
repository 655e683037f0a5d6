// Package unasked tells what a relay was asked for from what it sends of its own accord: which events answer a request, which come
// late, and how many other messages it had reason for. What is left over is counted against the relay. All of it is values; the time
// is told. Read Question first.
package unasked

import "github.com/graspd/graspd/internal/nostr"

// How many events of one request are not held against the relay though they are
// dropped: from outside the time that was asked for, and of a request that has
// ended, as a relay that takes no notice of limits may have much under way.
const (
	mostOutside = 1000
	mostLate    = 100_000
)

// Question is one request to a relay. It belongs to whoever reads what the relay sends.
type Question struct {
	asks    []answers
	over    bool
	dropped int // events
}

// Ask is the question of a request that was sent.
func Ask(filters []nostr.Filter) *Question { return &Question{asks: newAnswers(filters)} }

// Over is the question of a request that has ended. It keeps no filters.
func Over() *Question { return &Question{over: true} }

// Answer is how an event stands to the request that it came for.
type Answer uint8

// The answers.
const (
	Unasked Answer = iota // nobody asked for it: it counts against the relay
	Late                  // it is dropped, and the relay not blamed: it was under way, or lies outside the time that was asked for
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

// drop counts an event that is dropped. Beyond the most it counts against the relay.
func (q *Question) drop(most int) Answer {
	if q.dropped++; q.dropped > most {
		return Unasked
	}
	return Late
}
