// Package elsewhere counts announcements that do not list this relay, and what they list instead, so that an operator of a relay
// that carries nothing learns why. All that it counts is strangers' words, so all of it is bounded. Read Tally.Saw.
package elsewhere

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of a Tally.
const (
	mostNames  = 64   // that are counted; a new one takes the place and the count of the least frequent, so that a frequent one is never missed
	mostOfOne  = 10   // names that one announcement gives
	mostLooked = 100  // values of one announcement that are looked at
	mostRelays = 1000 // that are told apart
)

// told is how many names are told.
const told = 3

// Tally is what was seen. Its zero value is empty; it belongs to one goroutine.
type Tally struct {
	announcements uint64
	from          map[string]struct{}
	names         map[string]uint64
}

// Saw counts an announcement that does not list this relay; from is the relay that brought it, "" a client.
func (t *Tally) Saw(a *nip34.Announcement, from string) {
	if t.names == nil {
		t.from, t.names = make(map[string]struct{}), make(map[string]uint64)
	}
	t.announcements++
	if from != "" && len(t.from) < mostRelays {
		t.from[from] = struct{}{}
	}
	for _, name := range namesOf(a) {
		t.count(name)
	}
}

// count is SpaceSaving: of n names in all, one that stands for more than n/64 of them is always among those that are kept.
func (t *Tally) count(name string) {
	if _, known := t.names[name]; !known && len(t.names) == mostNames {
		least := ""
		for x, n := range t.names {
			if least == "" || n < t.names[least] || n == t.names[least] && x < least {
				least = x
			}
		}
		t.names[name] = t.names[least]
		delete(t.names, least)
	}
	t.names[name]++
}

// namesOf are the names of the relays that an announcement lists, each once.
func namesOf(a *nip34.Announcement) (names []string) {
	for _, raw := range a.Relays[:min(len(a.Relays), mostLooked)] {
		u, err := grasp.NormalizeRelay(raw)
		if err != nil {
			continue
		}
		if name := u.Domain(); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) == mostOfOne {
			break
		}
	}
	return names
}

// Told is what an operator is told of it, the three most frequent names; of this relay it says nothing yet.
func (t *Tally) Told() status.Nothing {
	n := status.Nothing{Announcements: t.announcements, From: len(t.from), Names: []status.NameSeen{}}
	for name, count := range t.names {
		n.Names = append(n.Names, status.NameSeen{Name: name, Announcements: count})
	}
	slices.SortFunc(n.Names, func(a, b status.NameSeen) int {
		return cmp.Or(cmp.Compare(b.Announcements, a.Announcements), cmp.Compare(a.Name, b.Name))
	})
	n.Names = n.Names[:min(len(n.Names), told)]
	return n
}
