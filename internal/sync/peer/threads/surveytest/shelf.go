// Package surveytest has a store of some events that answers a survey.
package surveytest

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

// Shelf is a store of some events; those refused are known and not here.
type Shelf struct {
	Events  map[nostr.ID]*nostr.Event
	Refused map[nostr.ID]bool
	Looks   int
	Tags    int // of the events that were read, as often as each was
	Err     error
}

// Shelve makes a Shelf of events.
func Shelve(events ...*nostr.Event) *Shelf {
	s := &Shelf{Events: map[nostr.ID]*nostr.Event{}, Refused: map[nostr.ID]bool{}}
	for _, e := range events {
		s.Events[e.ID] = e
	}
	return s
}

func (s *Shelf) look(id nostr.ID) (*nostr.Event, bool, error) {
	s.Looks++
	return s.Events[id], s.Events[id] != nil || s.Refused[id], s.Err
}

// Store is what reads the shelf.
func (s *Shelf) Store() threads.Store { return threads.Store{EachAbout: s.eachAbout, Look: s.look} }

func (s *Shelf) eachAbout(v threads.Values, f func(*nostr.Event) (bool, error)) error {
	var rows []*nostr.Event
	values := SetOf(v)
	for _, x := range s.Events {
		if values.About(x) {
			rows = append(rows, x)
		}
	}
	slices.SortFunc(rows, newestFirst)
	for _, x := range rows {
		s.Tags += len(x.Tags)
		if more, err := f(x); err != nil || !more {
			return err
		}
	}
	return nil
}

func newestFirst(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
}

// Set is Values to look up in.
type Set struct{ ids, addresses map[string]bool }

// SetOf returns v to look up in.
func SetOf(v threads.Values) Set {
	s := Set{map[string]bool{}, map[string]bool{}}
	for _, id := range v.IDs {
		s.ids[id.String()] = true
	}
	for _, a := range v.Addresses {
		s.addresses[a] = true
	}
	return s
}

// About says whether e names one of the values or stands at one.
func (s Set) About(e *nostr.Event) bool {
	if s.addresses[e.Address()] {
		return true
	}
	return slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool {
		switch t.Name() {
		case "e", "E":
			return s.ids[t.Value()]
		case "a", "A":
			return s.addresses[t.Value()]
		case "q":
			return s.ids[t.Value()] || s.addresses[t.Value()]
		}
		return false
	})
}
