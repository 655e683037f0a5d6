package index

import (
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// State says whether an event is known.
type State uint8

// The states of an id.
const (
	Unknown    State = iota
	Stored           // it is here, and durable
	Remembered       // it was verified, decided against, and is remembered
	InWaiting        // it is here, durable, and not served until its git data is here
)

// Knowledge is what the store knows of an id.
type Knowledge struct {
	State State
	Why   policy.Outcome // has a meaning only with Remembered
	Time  int64          // created_at; 0 with Unknown
}

// Known looks an id up. Whatever is not Unknown has been verified once.
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
