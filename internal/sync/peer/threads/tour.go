package threads

import (
	"cmp"
	"encoding/binary"
	"iter"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// tour is how far layer 4 has come with a relay. It outlives connections and full resyncs: each resync goes on where the one before stopped, round all
// wanted items, some at a time.
type tour struct {
	from    want.Item // wanted items up to this one are done or surveyed now
	before  want.Item // what from was before the survey under way
	items   int       // of the survey under way; 0 = none is
	start   want.Item // the item behind which the round began
	wrapped bool
	most    int                 // values of the next survey; 0 = MostValues
	missing []nostr.ID          // not asked yet: fetched by id first, as the events that name one are asked for once it is here
	ids     []nostr.ID          // not asked yet: what names them is asked for
	authors []nostr.PubKey      // authors whose events are not asked for yet
	asked   map[uint64]struct{} // what was asked of the items surveyed now
	passes  int                 // surveys of them
	rounds  int
	met     map[uint64]struct{} // authors of this round
}

const (
	MostValues = 100  // values of one survey
	MostMet    = 4096 // authors that a tour remembers as met; beyond, some are asked for twice
)

// begun reports whether there ever was a round.
func (w *tour) begun() bool { return w.rounds > 0 }

// begin starts a round where the last one stopped; the very first round starts behind the item first.
func (w *tour) begin(first want.Item) {
	if !w.begun() {
		w.from = first
	}
	w.back()
	w.rounds++
	w.start, w.wrapped = w.from, false
	w.met = make(map[uint64]struct{})
	for _, pk := range w.authors {
		w.met[binary.BigEndian.Uint64(pk[:])] = struct{}{}
	}
}

// back goes back to before a survey that told nothing.
func (w *tour) back() {
	if w.items > 0 {
		w.from, w.items = w.before, 0
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

// next returns what to survey once all that was found has been asked, of the next wanted items in the order of their numbers; false at the end of the
// round. above yields the wanted items of greater number than an item.
func (w *tour) next(from *want.Want, above func(want.Item) iter.Seq[want.Item]) (v Values, ok bool) {
	for w.back(); ; w.from, w.wrapped = want.Announcements, true {
		w.before = w.from
		for it := range above(w.from) {
			x := ValuesOf(from, it)
			if w.wrapped && it > w.start || v.size() > 0 && v.size()+x.size() > cmp.Or(w.most, MostValues) {
				break
			}
			v.IDs, v.Addresses = append(v.IDs, x.IDs...), append(v.Addresses, x.Addresses...)
			w.from = it
			w.items++
		}
		if v.size() > 0 {
			return v, true
		}
		if w.items = 0; w.wrapped {
			return v, false
		}
	}
}

// take goes on with what the survey has reached that next returned last. Where that is too much for one survey, fewer items are surveyed at once: one
// that is talked about without end keeps nothing but its own from being asked. The same items are surveyed again as long as that leads further.
func (w *tour) take(in Reached) {
	if w.asked == nil {
		w.asked = make(map[uint64]struct{})
	}
	if in.Full && w.items > 1 {
		w.most = max(1, cmp.Or(w.most, MostValues)/2)
		w.back()
		return
	}
	for _, pk := range in.Authors {
		w.meet(pk)
	}
	w.missing, w.ids = w.fresh(in.Missing), w.fresh(in.IDs)
	if w.passes++; w.passes <= MostLevels && len(w.missing)+len(w.ids) > 0 {
		w.back() // once that is asked, for what came of it
		return
	}
	w.items, w.passes, w.asked, w.most = 0, 0, nil, min(2*w.most, MostValues)
}

// fresh returns the ids of which nothing was asked in an earlier pass.
func (w *tour) fresh(ids []nostr.ID) (fresh []nostr.ID) {
	for _, id := range ids {
		k := binary.BigEndian.Uint64(id[:])
		if _, dup := w.asked[k]; !dup {
			w.asked[k] = struct{}{}
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// fetched ends the fetch of the first n missing events, and adds those that came to ids.
func (w *tour) fetched(n int, came func(nostr.ID) bool) {
	for _, id := range w.missing[:n] {
		if came(id) {
			w.ids = append(w.ids, id)
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
	Missing, IDs, Authors int
	Met                   int // authors of the round
}

// size returns how much the tour holds. All of it is bounded.
func (w *tour) size() TourSize {
	return TourSize{Missing: len(w.missing), IDs: len(w.ids), Authors: len(w.authors), Met: len(w.met)}
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
