package threads

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Values are ids and addresses. An event is about Values if it names one of them, or stands at one.
type Values struct {
	IDs       []nostr.ID
	Addresses []string
}

func (v Values) size() int { return len(v.IDs) + len(v.Addresses) }

// Store is what a walk reads.
type Store struct {
	// EachAbout has take have the stored events that are about v, the newest first, as long as it wants more.
	EachAbout func(v Values, take func(*nostr.Event) (more bool, err error)) error

	// Look returns the stored event with that id, nil if it is not stored, and
	// whether the id is known: stored, or remembered as decided against.
	Look func(id nostr.ID) (e *nostr.Event, known bool, err error)
}

// Reached is what the tour learns from a walk.
type Reached struct {
	IDs     []nostr.ID     // events that are no root events
	Missing []nostr.ID     // ids that events name and that are unknown here
	Authors []nostr.PubKey // authors of all events
	Full    bool           // the walk ended at its bounds: there may be more
}

// Bounds of one walk.
const (
	MostReached = 4000   // events that are no root events, and missing ids, together
	mostReads   = 20_000 // events read, as often as one is, and questions about single events; an event with many tags counts for several
	readTags    = 16     // tags that are read for one
	MostLevels  = 8      // how far a walk follows answers to answers
	MostNamed   = 16     // missing ids that count of one event; the rest is never asked for
	MostForward = 16     // stored events that one event brings with it because it names them; the rest is left out
	atOnce      = 100    // values that are looked up together
)

// Walk goes from what is about v to what is about that in turn, and to what all of these name. Near events come first, and the newest of those.
func (v Values) Walk(s Store) (Reached, error) {
	w := walk{store: s, first: make(map[nostr.ID]struct{}), seen: make(map[nostr.ID]struct{}), authors: make(map[nostr.PubKey]struct{})}
	for _, id := range v.IDs {
		w.first[id] = struct{}{}
	}
	if err := w.about(Values{Addresses: v.Addresses}); err != nil {
		return Reached{}, err
	}
	w.next = slices.Concat(v.IDs, w.next)
	for range MostLevels {
		level := w.next
		w.next = nil
		for ids := range slices.Chunk(level, atOnce) {
			if err := w.about(Values{IDs: ids}); err != nil {
				return Reached{}, err
			}
		}
	}
	return w.out, nil
}

type walk struct {
	store   Store
	first   map[nostr.ID]struct{} // the ids with which it began
	seen    map[nostr.ID]struct{}
	authors map[nostr.PubKey]struct{}
	reads   int        // as mostReads counts them
	next    []nostr.ID // what is about these comes in the next level
	out     Reached
}

// about reaches what is about some values.
func (w *walk) about(v Values) error {
	if w.out.Full || v.size() == 0 {
		return nil
	}
	return w.store.EachAbout(v, func(e *nostr.Event) (more bool, err error) {
		named, err := w.reach(e)
		for i := 0; i < len(named) && err == nil && !w.out.Full; i++ {
			_, err = w.reach(named[i]) // what it names brings nothing with it in turn
		}
		return !w.out.Full, err
	})
}

// reach takes one event, and returns the stored ones that it names.
func (w *walk) reach(e *nostr.Event) (named []*nostr.Event, err error) {
	w.read(1 + len(e.Tags)/readTags)
	switch {
	case isRoot(e): // what names it is asked for in layer 3
	case w.fresh(e.ID):
		w.out.IDs, w.next = append(w.out.IDs, e.ID), append(w.next, e.ID)
	default:
		return nil, nil
	}
	if _, dup := w.authors[e.PubKey]; !dup {
		w.authors[e.PubKey] = struct{}{}
		w.out.Authors = append(w.out.Authors, e.PubKey)
	}
	if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
		return nil, nil // the events that it names are to go
	}
	missing := 0
	for _, id := range nip34.References(e).IDs {
		_, first := w.first[id]
		_, seen := w.seen[id]
		if first || seen {
			continue
		}
		w.read(1)
		x, known, err := w.store.Look(id)
		switch {
		case err != nil || w.out.Full:
			return nil, err
		case !known && missing < MostNamed && w.fresh(id):
			missing++
			w.out.Missing = append(w.out.Missing, id)
		case x != nil && len(named) < MostForward && !isRoot(x):
			named = append(named, x)
		}
	}
	return named, nil
}

// fresh notes an id, and reports whether it is the first time and within the bounds.
func (w *walk) fresh(id nostr.ID) bool {
	if _, dup := w.seen[id]; dup {
		return false
	}
	if w.out.Full = len(w.seen) >= MostReached; w.out.Full {
		return false
	}
	w.seen[id] = struct{}{}
	return true
}

// read counts what is read or looked up.
func (w *walk) read(n int) {
	w.reads += n
	w.out.Full = w.out.Full || w.reads > mostReads
}

// isRoot reports whether e is a root event.
func isRoot(e *nostr.Event) bool {
	return nip34.Is(e.Kind, nip34.Root) && len(nip34.Repositories(e)) > 0
}
