package ingest

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of a tally, as strangers write all that it counts.
const (
	mostNames  = 64   // names that a tally counts; a new one takes the place and the count of the least frequent, so it never misses a frequent one
	mostOfOne  = 10   // names counted of one announcement
	mostLooked = 100  // values of one announcement that namesOf reads
	mostRelays = 1000 // relays that bring announcements; a tally counts no more
)

// mostTold is how many names the operator is told.
const mostTold = 3

// tally counts announcements that do not list this relay, and the relays that they list instead, so that an operator whose relay carries
// nothing learns why. The zero tally is empty.
type tally struct {
	announcements uint64
	from          map[string]struct{}
	names         map[string]uint64
}

// saw counts an announcement that does not list this relay. from is the relay that brought it, or "" for a client.
func (t *tally) saw(a *nip34.Announcement, from string) {
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

// count counts a name by the algorithm SpaceSaving: of n counts in all, a name with more than n/64 is always among those kept.
func (t *tally) count(name string) {
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

// namesOf returns the names of the relays that an announcement lists, each once.
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

// told returns what to tell the operator: the counts, and the three most frequent names. The caller fills in what concerns this relay.
func (t *tally) told() status.Nothing {
	n := status.Nothing{Announcements: t.announcements, From: len(t.from), Names: []status.NameSeen{}}
	for name, count := range t.names {
		n.Names = append(n.Names, status.NameSeen{Name: name, Announcements: count})
	}
	slices.SortFunc(n.Names, func(a, b status.NameSeen) int {
		return cmp.Or(cmp.Compare(b.Announcements, a.Announcements), cmp.Compare(a.Name, b.Name))
	})
	n.Names = n.Names[:min(len(n.Names), mostTold)]
	return n
}
