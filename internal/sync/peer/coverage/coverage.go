// Package coverage measures, per repository, how many of the events here a relay has. It asks the relay nothing: reconciliations
// compare both sides anyway, and a Tally counts what one of them tells. A Book adds tallies up. Within the filters that are asked
// together, those of a repository or those of some root events, an event counts once, under one of its values.
package coverage

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/want"
)

// Count is how many events are here, and how many of these the relay lacks.
type Count struct{ Here, Lacks uint64 }

func (s Count) plus(o Count) Count { return Count{s.Here + o.Here, s.Lacks + o.Lacks} }

// shares counts the events of one repository: those for its own filters, and those for the filters of its root events.
type shares struct{ own, roots Count }

func (s shares) sum() Count { return s.own.plus(s.roots) }

// Book holds what is known of one relay, by the Ord of repositories. It outlives connections. The zero Book knows nothing, and
// has no catch-up under way. Call Begin before Add.
type Book struct {
	last    map[uint32]shares // as of the last full catch-up that ended
	next    map[uint32]shares // of the catch-up under way, asked by items
	whole   map[uint32]shares // of the catch-up under way, as the last comparison of everything told; nil = there was none
	filling bool              // a full catch-up is under way
	asking  string            // name of the open question what the lacking events name; empty = none is open
	told    time.Duration     // when the operator last heard what the relay lacks
	before  bool              // the operator has heard it before
	totals  totals
}

// totals sums up all wanted repositories. A Book keeps the totals, as the repositories are many.
type totals struct {
	Count
	lacking int // repositories of which the relay lacks any
}

// lackInterval is the least time between two log lines about what a relay lacks.
const lackInterval = time.Hour

// Begin begins another full catch-up, and forgets what the one under way has found so far.
func (b *Book) Begin() {
	b.next, b.whole, b.filling, b.asking = make(map[uint32]shares), nil, true, ""
}

// Filling reports whether a full catch-up is under way and no question is open, so that End may end it.
func (b *Book) Filling() bool { return b.filling && b.asking == "" }

// End ends the catch-up under way: what it has found counts from now on.
func (b *Book) End(w *want.Want) {
	for ord, y := range b.whole {
		x := b.next[ord]
		if x.own == (Count{}) {
			x.own = y.own
		}
		x.roots = x.roots.plus(y.roots)
		b.next[ord] = x
	}
	b.last, b.next, b.whole, b.filling = b.next, nil, nil, false
	b.recount(w)
}

// MostFormer is how many figures of repositories a map of a Book may have beyond twice the wanted ones.
const MostFormer = 64

// Want takes another Want. It forgets repositories that are wanted no more once they have become many.
func (b *Book) Want(w *want.Want) {
	for _, m := range []map[uint32]shares{b.last, b.next, b.whole} {
		if len(m) <= 2*len(w.Repos)+MostFormer {
			continue
		}
		maps.DeleteFunc(m, func(ord uint32, _ shares) bool {
			_, wanted := slices.BinarySearchFunc(w.Repos, ord, func(r *want.RepoWant, ord uint32) int { return cmp.Compare(r.Ord, ord) })
			return !wanted
		})
	}
	b.recount(w)
}

// Forget forgets all but when the operator was told, as graspd wants nothing of the relay any more.
func (b *Book) Forget() { *b = Book{told: b.told, before: b.before} }

// Filter is one of the filters that were asked together, and what its comparison told.
type Filter struct {
	Tag    byte     // the tag of its only list
	Values []string // the values of that list
	Tally  *Tally
}

// Add takes what the filters for some items of a layer told. It takes nothing unless all filters were compared in full.
func (b *Book) Add(w *want.Want, layer want.Layer, asked func(want.Item) bool, filters []Filter) {
	for _, f := range filters {
		if !f.Tally.Complete {
			return
		}
	}
	found, owners := make(map[uint32]Count), belonging(w, layer, asked)
	for _, f := range filters {
		for i, s := range f.Tally.shares {
			for _, ord := range owners[owned(f.Tag, f.Values[i])] {
				found[ord] = found[ord].plus(s)
			}
		}
	}
	b.note(layer, found)
	if !b.filling { // else it counts at the end
		b.recount(w)
	}
}

// note adds what was found of repositories.
func (b *Book) note(l want.Layer, found map[uint32]Count) {
	into := b.last
	if b.filling {
		into = b.next
	}
	for ord, s := range found {
		x := into[ord]
		if l == want.LayerRepositories { // a new revision takes the place of the former one
			x.own = s
		} else {
			x.roots = x.roots.plus(s)
		}
		into[ord] = x
	}
}

// recount works out the totals. Callers call it when the Want or the figures change, for which they walk through all anyway.
func (b *Book) recount(w *want.Want) { b.totals = b.count(w) }

func (b *Book) count(w *want.Want) (all totals) {
	for _, r := range w.Repos {
		s := b.last[r.Ord].sum()
		all.Count = all.plus(s)
		if s.Lacks > 0 {
			all.lacking++
		}
	}
	return all
}

// Of returns the figures of the repository with that Ord.
func (b *Book) Of(ord uint32) Count { return b.last[ord].sum() }

// Kept yields, for each figure that the Book keeps, the Ord of its repository. A repository has up to three figures.
func (b *Book) Kept() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, m := range []map[uint32]shares{b.last, b.next, b.whole} {
			for ord := range m {
				if !yield(ord) {
					return
				}
			}
		}
	}
}

// Total returns the figures of all wanted repositories together, and of how many of them the relay lacks any event.
func (b *Book) Total() (s Count, lacking int) { return b.totals.Count, b.totals.lacking }

// Tell returns the repository of which the relay lacks the most, if it is time to tell the operator; nil otherwise.
func (b *Book) Tell(w *want.Want, now time.Duration) (worst *want.RepoWant) {
	for _, r := range w.Repos {
		if lacks := b.Of(r.Ord).Lacks; lacks > 0 && (worst == nil || lacks > b.Of(worst.Ord).Lacks) {
			worst = r
		}
	}
	if worst == nil || b.before && now < b.told+lackInterval {
		return nil
	}
	b.told, b.before = now, true
	return worst
}
