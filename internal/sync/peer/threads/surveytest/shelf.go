// Package surveytest has a store of some events that answers a survey.
package surveytest

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

// Shelf is a Lookup of some events; those refused are known and not here.
type Shelf struct {
	Events  map[nostr.ID]*nostr.Event
	Refused map[nostr.ID]bool
	Looks   int
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

// Look is as threads.Lookup has it.
func (s *Shelf) Look(id nostr.ID) (*nostr.Event, bool, error) {
	s.Looks++
	return s.Events[id], s.Events[id] != nil || s.Refused[id], s.Err
}

// Answer answers as a store does that reads all it has.
func (s *Shelf) Answer(q threads.PageQuery) (threads.PageAnswer, error) {
	var rows []*nostr.Event
	values := SetOf(q.Values)
	for _, x := range s.Events {
		if behind(x, q.After) && values.About(x) {
			rows = append(rows, x)
		}
	}
	slices.SortFunc(rows, newestFirst)
	page := q.Page()
	for _, x := range rows {
		full, err := page.Add(x, s)
		if err != nil {
			return threads.PageAnswer{}, err
		}
		if full {
			return page.Answer(false), nil
		}
	}
	return page.Answer(true), nil
}

func newestFirst(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
}

func behind(e *nostr.Event, p *nostr.Stamp) bool { return p == nil || p.Newer(e.Stamp()) }

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
