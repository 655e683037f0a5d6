package threads

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// tour is how far layer 4 has come with a relay. It outlives connections and
// full resyncs: each resync goes on where the one before stopped, round all wanted
// items. The lowest frame of a tour is about some wanted items, and each further
// frame about the last page of the frame below. So a tour reaches answers to
// answers, and holds no more than a few pages.
type tour struct {
	from    want.Item // wanted items up to this one are done or in the lowest frame
	before  want.Item // what from was when the lowest frame was made
	start   want.Item // the item behind which the round began
	wrapped bool
	frames  []frame
	missing []nostr.ID     // of the page at hand, not asked yet: fetched by id first, as the events that name one are asked for once it is here
	ids     []nostr.ID     // of the page at hand, not asked yet: what names them is asked for
	page    []nostr.ID     // all ids of the page at hand
	authors []nostr.PubKey // authors whose events are not asked for yet
	rounds  int
	met     map[uint64]struct{} // authors of this round
}

// frame is a survey under way.
type frame struct {
	Values
	after *nostr.Stamp // where the survey goes on
	over  bool         // the survey has come to its end
}

const (
	MostFrames  = 8    // frames: how far a tour follows answers to answers
	FrameValues = 100  // values in the lowest frame
	MostMet     = 4096 // authors that a tour remembers as met; beyond, some are asked for twice
)

// begun reports whether there ever was a round.
func (w *tour) begun() bool { return w.rounds > 0 }

// begin starts a round where the last one stopped; the very first round starts behind the item first.
func (w *tour) begin(first want.Item) {
	if !w.begun() {
		w.from = first
	}
	w.rounds++
	w.start, w.wrapped = w.from, false
	if len(w.frames) > 0 {
		w.start = w.before
	}
	w.met = make(map[uint64]struct{})
	for _, pk := range w.authors {
		w.met[binary.BigEndian.Uint64(pk[:])] = struct{}{}
	}
}

// end ends the round. It keeps all but the authors met for the next round.
func (w *tour) end() { w.met = nil }

// meet adds an author to those to ask for, once in a round.
func (w *tour) meet(pk nostr.PubKey) {
	k := binary.BigEndian.Uint64(pk[:])
	if _, dup := w.met[k]; dup {
		return
	}
	if len(w.met) >= MostMet {
		clear(w.met)
	}
	w.met[k] = struct{}{}
	w.authors = append(w.authors, pk)
}

// next returns what to read once the page at hand has been asked; false at the
// end of the round. above yields the wanted items of greater number than an item.
func (w *tour) next(from *want.Want, above func(want.Item) iter.Seq[want.Item]) (PageQuery, bool) {
	if len(w.page) > 0 && len(w.frames) < MostFrames {
		w.frames = append(w.frames, frame{Values: Values{IDs: w.page}})
	}
	w.page = nil
	for len(w.frames) > 0 && w.frames[len(w.frames)-1].over {
		w.frames = w.frames[:len(w.frames)-1]
	}
	if len(w.frames) == 0 && !w.nextItems(from, above) {
		return PageQuery{}, false
	}
	top := len(w.frames) - 1
	s := PageQuery{Values: w.frames[top].Values, After: w.frames[top].after}
	for _, f := range w.frames[:top] {
		s.Above = append(s.Above, f.Values)
	}
	return s, true
}

// nextItems makes the lowest frame, of the next wanted items in the order of their
// numbers. It returns false when the round is over.
func (w *tour) nextItems(from *want.Want, above func(want.Item) iter.Seq[want.Item]) bool {
	for {
		w.before = w.from
		var f frame
		for it := range above(w.from) {
			v := ValuesOf(from, it)
			if w.wrapped && it > w.start || f.size() > 0 && f.size()+v.size() > FrameValues {
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

// take goes on with the answer to the query that Next returned last.
func (w *tour) take(in PageAnswer) {
	top := &w.frames[len(w.frames)-1]
	top.after, top.over = in.Next, in.Next == nil
	w.missing, w.ids, w.page = in.Missing, in.IDs, slices.Clone(in.IDs)
	for _, pk := range in.Authors {
		w.meet(pk)
	}
}

// fetched ends the fetch of the first n missing events, and adds those that came to ids.
func (w *tour) fetched(n int, came func(nostr.ID) bool) {
	for _, id := range w.missing[:n] {
		if came(id) {
			w.ids, w.page = append(w.ids, id), append(w.page, id)
		}
	}
	w.missing = w.missing[n:]
}

// askedIDs notes that the first n of ids have been asked for.
func (w *tour) askedIDs(n int) { w.ids = w.ids[n:] }

// askedAuthors notes that the first n of authors have been asked for.
func (w *tour) askedAuthors(n int) { w.authors = w.authors[n:] }

// TourSize is how much a tour holds.
type TourSize struct {
	Frames, Values              int // Values: of the frame that has the most
	Missing, IDs, Page, Authors int
	Met                         int // authors of the round
}

// size returns how much the tour holds. All of it is bounded.
func (w *tour) size() TourSize {
	h := TourSize{Frames: len(w.frames), Missing: len(w.missing), IDs: len(w.ids), Page: len(w.page), Authors: len(w.authors), Met: len(w.met)}
	for _, f := range w.frames {
		h.Values = max(h.Values, f.size())
	}
	return h
}

// ValuesOf returns the values of an item that events may be about: the id of a root
// event, or the addresses of the announcements and states of a repository.
func ValuesOf(w *want.Want, it want.Item) Values {
	r := w.Repository(it)
	if r == nil {
		return Values{IDs: []nostr.ID{w.Root(it)}}
	}
	var v Values
	if r.Claimed {
		return v // once the repository is served, the events about it are looked for
	}
	for _, a := range r.Addresses {
		v.Addresses = append(v.Addresses, a, "30618"+a[len("30617"):])
	}
	return v
}

func (v Values) size() int { return len(v.IDs) + len(v.Addresses) }
