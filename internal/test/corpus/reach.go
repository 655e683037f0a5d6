package corpus

import (
	"iter"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Reach knows which events a sync finds that asks for repositories and for their root events. It has three layers: all announcements (1),
// events that name a known repository (2) and events that name a known root event (3). An event that names only others, such as a reaction
// to a comment, is beyond it.
type Reach struct {
	addresses map[string]bool // of repositories, and of the states that belong to them
	ids       map[string]bool // d of repositories
	roots     map[string]bool // ids
}

// NewReach takes the repositories and roots from the held events, over which it ranges twice: every announcement, and every patch, pull
// request, update and issue that names an announced repository in an a tag.
func NewReach(held iter.Seq[*nostr.Event]) *Reach {
	r := &Reach{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for e := range held {
		if e.Kind == nip34.KindRepository {
			address := e.Address()
			r.addresses[address] = true
			r.addresses["30618"+strings.TrimPrefix(address, "30617")] = true
			r.ids[e.Tags.D()] = true
		}
	}
	for e := range held {
		if nip34.Is(e.Kind, nip34.Root) && r.names(e.Tags.All("a"), r.addresses) {
			r.roots[e.ID.String()] = true
		}
	}
	return r
}

// Layer returns the first layer that finds e; 0 where none does.
func (r *Reach) Layer(e *nostr.Event) int {
	switch {
	case e.Kind == nip34.KindRepository:
		return 1
	case e.Kind == nip34.KindState && r.ids[e.Tags.D()]:
		return 2
	case r.layer2(e):
		return 2
	case r.names(e.Tags.All("e"), r.roots), r.names(e.Tags.All("E"), r.roots), r.names(e.Tags.All("q"), r.roots):
		return 3
	}
	return 0
}

// layer2 reports whether e names a repository. The address of a state counts only in the a tag of a deletion, as a sync asks for no other
// event by it.
func (r *Reach) layer2(e *nostr.Event) bool {
	for _, t := range e.Tags {
		switch t.Name() {
		case "a", "A", "q":
			state := strings.HasPrefix(t.Value(), "30618:")
			if r.addresses[t.Value()] && (!state || e.Kind == nostr.KindDeletion && t.Name() == "a") {
				return true
			}
		}
	}
	return false
}

func (r *Reach) names(tags iter.Seq[nostr.Tag], known map[string]bool) bool {
	for t := range tags {
		if known[t.Value()] {
			return true
		}
	}
	return false
}
