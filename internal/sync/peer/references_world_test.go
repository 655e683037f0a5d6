package peer_test

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/peer/threads/surveytest"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// others returns the events of both sides that are no root events.
func (w *world) others() []*nostr.Event {
	var out []*nostr.Event
	for _, e := range slices.Concat(w.byID, w.relay.events) {
		if !nip34.Is(e.Kind, nip34.Root) && e.Kind != nostr.KindDeletion {
			out = append(out, e)
		}
	}
	return out
}

// around makes an event that only layer 4 leads to, or that leads to another.
func (w *world) around(created int64, other *nostr.Event) *nostr.Event {
	m, r := &w.shop.Mint, w.r
	switch r.IntN(5) {
	case 0:
		return m.Event(nostr.KindDeletion, other.PubKey, created, nostr.Tag{"e", "deleted"})
	case 1: // it names what may come, or what is there
		e := m.Event(nostr.KindComment, key(202+r.IntN(3)), created, nostr.Tag{"e", other.ID.String()})
		note := m.Event(pick(r, nostr.KindNote, nostr.KindComment), key(210+r.IntN(3)), created)
		e.Tags = append(e.Tags, nostr.Tag{"q", note.ID.String()})
		w.relay.publish(note)
		w.excused[note.ID] = true
		return e
	case 2:
		return m.Event(nostr.KindComment, key(205), created, nostr.Tag{"E", other.ID.String()}) // not reached by it
	}
	return m.Event(nostr.KindReaction, key(206+r.IntN(3)), created, nostr.Tag{"e", other.ID.String()})
}

// references waits until the full resyncs have brought what layer 4 leads to. A
// chain that goes back and forth may take one for each turn.
func (w *world) references() {
	var missing []*nostr.Event
	for range 12 {
		w.run(w.mono+2*time.Hour, nil)
		if missing = w.unreached(); len(missing) == 0 {
			return
		}
		w.run(w.mono+23*time.Hour, nil)
	}
	e := missing[0]
	w.fail("layer 4 leaves %d events behind, such as %v, kind %d, %v, published at %v", len(missing), e.ID, e.Kind, e.Tags, w.relay.born[e.ID])
}

// unreached returns the events of the relay that layer 4 leads to from what is
// stored here, and that are not stored.
func (w *world) unreached() []*nostr.Event {
	if w.unproven() {
		return nil
	}
	reach := w.reach()
	named, answered, authors := map[string]bool{}, map[string]bool{}, map[nostr.PubKey]bool{}
	for _, e := range reach {
		authors[e.PubKey] = true
		if !nip34.Is(e.Kind, nip34.Root) {
			answered[e.ID.String()] = true
		}
		if e.Kind == nostr.KindDeletion {
			continue
		}
		for _, id := range nip34.References(e).IDs {
			named[id.String()] = true
		}
	}
	var out []*nostr.Event
	for _, e := range w.relay.events {
		if e.Kind == nostr.KindNote && w.relay.kinds == "refuses" {
			continue // it gives them by author only
		}
		asked := named[e.ID.String()] || e.Kind == nostr.KindDeletion && authors[e.PubKey] ||
			slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool { return t.Name() == "e" && answered[t.Value()] })
		if asked && w.store[e.ID] == nil && !w.relay.withheld[e.ID] {
			out = append(out, e)
		}
	}
	return out
}

// reach returns the stored events that have to do with what is wanted: those
// about an item, what names them in turn, as far as that is followed, and what
// they name.
func (w *world) reach() []*nostr.Event {
	current, _ := w.peer.Current()
	var out []*nostr.Event
	seen := map[nostr.ID]bool{}
	var values threads.Values
	for _, it := range wanttest.Items(current) {
		if it != want.Announcements {
			v := threads.ValuesOf(current, it)
			values.IDs, values.Addresses = append(values.IDs, v.IDs...), append(values.Addresses, v.Addresses...)
		}
	}
	for range threads.MostLevels {
		var next threads.Values
		add := func(e *nostr.Event) {
			if !seen[e.ID] {
				seen[e.ID] = true
				out = append(out, e)
				if !nip34.Is(e.Kind, nip34.Root) {
					next.IDs = append(next.IDs, e.ID)
				}
			}
		}
		set := surveytest.SetOf(values)
		for _, e := range w.byID {
			if !set.About(e) {
				continue
			}
			add(e)
			if e.Kind == nostr.KindDeletion {
				continue
			}
			for _, id := range nip34.References(e).IDs {
				if x := w.store[id]; x != nil && !nip34.Is(x.Kind, nip34.Root) {
					add(x)
				}
			}
		}
		values = next
	}
	return out
}
