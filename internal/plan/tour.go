package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// tour is how far layer 4 has come with a relay. It outlives connections and
// full resyncs: each goes on where the one before stopped, around all that is
// wanted. Its lowest frame is about some wanted items, and each further one about
// the page that was read last of the frame below. So answers to answers are
// reached, and no more than a few pages are held.
type tour struct {
	from    want.Item // wanted items up to this one are done or in the lowest frame
	before  want.Item // up to this one when the lowest frame was made
	start   want.Item // where the round began
	wrapped bool
	frames  []frame
	missing []nostr.ID     // of the page at hand, not asked yet: fetched by id
	ids     []nostr.ID     // likewise: what names them is asked for
	page    []nostr.ID     // all ids of the page at hand
	authors []nostr.PubKey // not asked yet
	rounds  int
	met     map[uint64]struct{} // authors of this round
}

// frame is a survey under way.
type frame struct {
	Values
	after *Place // where it goes on
	over  bool   // read to its end
}

const (
	mostFrames  = 8    // answers to answers are followed that far
	frameValues = 100  // in the lowest frame
	mostMet     = 4096 // authors that are remembered as met; beyond, some are asked twice
)

// begin starts a round where the last one stopped.
func (w *tour) begin() {
	w.rounds++
	w.start, w.wrapped = w.from, false
	if len(w.frames) > 0 {
		w.start = w.before
	}
	w.met = make(map[uint64]struct{})
	for _, pk := range w.authors {
		w.met[key64(nostr.ID(pk))] = struct{}{}
	}
}

// end ends the round; all but the authors met is kept for the next.
func (w *tour) end() { w.met = nil }

// meet collects an author, once in a round.
func (w *tour) meet(pk nostr.PubKey) {
	k := key64(nostr.ID(pk))
	if _, dup := w.met[k]; dup {
		return
	}
	if len(w.met) >= mostMet {
		clear(w.met)
	}
	w.met[k] = struct{}{}
	w.authors = append(w.authors, pk)
}

// next returns what to read when the page at hand has been asked; false at the
// end of the round.
func (w *tour) next(want *want.Want, wanted *itemSet) (Survey, bool) {
	if len(w.page) > 0 && len(w.frames) < mostFrames {
		w.frames = append(w.frames, frame{Values: Values{IDs: w.page}})
	}
	w.page = nil
	for len(w.frames) > 0 && w.frames[len(w.frames)-1].over {
		w.frames = w.frames[:len(w.frames)-1]
	}
	if len(w.frames) == 0 && !w.nextItems(want, wanted) {
		return Survey{}, false
	}
	top := len(w.frames) - 1
	s := Survey{Values: w.frames[top].Values, After: w.frames[top].after}
	for _, f := range w.frames[:top] {
		s.Above = append(s.Above, f.Values)
	}
	return s, true
}

// nextItems makes the next wanted items, in the order of their numbers, the
// lowest frame; false when the round is over.
func (w *tour) nextItems(from *want.Want, wanted *itemSet) bool {
	for {
		w.before = w.from
		var f frame
		for it := range wanted.above(w.from) {
			v := itemValues(from, it)
			if w.wrapped && it > w.start || f.size() > 0 && f.size()+v.size() > frameValues {
				break
			}
			f.IDs, f.Addresses = append(f.IDs, v.IDs...), append(f.Addresses, v.Addresses...)
			w.from = it
		}
		if f.size() > 0 {
			w.frames = append(w.frames, f)
			return true
		}
		if w.wrapped {
			return false
		}
		w.from, w.wrapped = want.Announcements, true
	}
}

// surveyed takes a page of the uppermost frame.
func (w *tour) surveyed(in Surveyed) {
	top := &w.frames[len(w.frames)-1]
	top.after, top.over = in.Next, in.Next == nil
	w.missing, w.ids, w.page = in.Missing, in.IDs, slices.Clone(in.IDs)
	for _, pk := range in.Authors {
		w.meet(pk)
	}
}

// fetched has what names the events that came asked for as well, after a fetch
// of those that are missing.
func (w *tour) fetched(n *reconciliation) {
	for _, id := range w.missing {
		if !n.waitsFor(id) && !slices.Contains(n.need, id) {
			w.ids, w.page = append(w.ids, id), append(w.page, id)
		}
	}
	w.missing = nil
}

// itemValues returns what other events are about in an item: a root event, or the
// announcements and states of a repository.
func itemValues(w *want.Want, it want.Item) Values {
	r := w.Repository(it)
	if r == nil {
		return Values{IDs: []nostr.ID{w.Root(it)}}
	}
	var v Values
	if r.Claimed {
		return v // what refers to it is looked for once it is served
	}
	for _, a := range r.Addresses {
		v.Addresses = append(v.Addresses, a, stateAddress(a))
	}
	return v
}

func (v Values) size() int { return len(v.IDs) + len(v.Addresses) }
