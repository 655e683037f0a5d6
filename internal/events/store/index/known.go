package index

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// State says whether and how the store knows an event.
type State uint8

// The states of an id.
const (
	Unknown    State = iota
	Stored           // it is here and durable
	Remembered       // it was verified and refused, and its id is remembered
	InWaiting        // it is here and durable, but not served until its git data is here
)

// Knowledge is what the store knows about an id.
type Knowledge struct {
	State State
	Why   policy.Outcome // only with Remembered
	Time  int64          // created_at; 0 with Unknown
}

// Known looks an id up. Every event that is not Unknown has been verified once.
func (r Reader) Known(id nostr.ID) (Knowledge, error) {
	time, _, ok, err := r.Lookup(id)
	if err != nil {
		return Knowledge{}, err
	}
	if ok {
		return Knowledge{State: Stored, Time: time}, nil
	}
	rec, ok, err := r.Record(id)
	if err != nil || !ok || !r.remembers(rec) {
		return Knowledge{}, err
	}
	if rec.Why == policy.Wait {
		return Knowledge{State: InWaiting, Time: rec.Time}, nil
	}
	return Knowledge{State: Remembered, Why: rec.Why, Time: rec.Time}, nil
}
