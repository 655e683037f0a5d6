// Package coverage measures how much of what is here a relay has, per repository. It asks the relay nothing: reconciliations
// compare both sides anyway, and Tally counts what one of them tells. Book adds tallies up. An event counts once within what
// is asked together (the filters of a repository, or those of some root events), under one of the values that it has.
package coverage

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/want"
)

// Count is how many events are here, and how many of these the relay lacks.
type Count struct{ Here, Lacks uint64 }

func (s Count) plus(o Count) Count { return Count{s.Here + o.Here, s.Lacks + o.Lacks} }

// shares are those of one repository: of its own filters and of its root events'.
type shares struct{ own, roots Count }

func (s shares) sum() Count { return s.own.plus(s.roots) }

// Book is what is known of one relay, by the Ord of repositories. It outlives connections. Zero is nothing known, and no
// catch-up under way: Begin comes before Add.
type Book struct {
	last    map[uint32]shares // as of the last full catch-up that ended
	next    map[uint32]shares // of the one under way, asked by items
	whole   map[uint32]shares // of the one under way, as a comparison of everything told last; nil = none did
	filling bool              // one is under way
	asking  string            // name of the question what the events are that the relay lacks of everything; empty = none is open
	told    time.Duration     // when the operator was told last what the relay lacks
	before  bool              // they ever were
	totals  totals
}

// totals are those of all repositories that are wanted. They are kept, as the repositories are many.
type totals struct {
	Count
	lacking int // repositories of which the relay lacks any
}

// lackInterval is the time between two words about what a relay lacks.
const lackInterval = time.Hour

// Begin forgets what the catch-up under way has found so far: another one begins.
func (b *Book) Begin() {
	b.next, b.whole, b.filling, b.asking = make(map[uint32]shares), nil, true, ""
}

// Filling says whether a full catch-up is under way whose end would tell what counts.
func (b *Book) Filling() bool { return b.filling && b.asking == "" }

// End makes what the catch-up under way has found what counts.
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

// MostFormer is how many repositories that are wanted no more may be counted beside twice those that are wanted.
const MostFormer = 64

// Want takes another Want. Repositories that are wanted no more are forgotten when they have become many.
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

// Leave forgets all but when the operator was told, as nothing is wanted of the relay any more.
func (b *Book) Leave() { *b = Book{told: b.told, before: b.before} }

// Filter is one filter of what was asked together, and what its comparison told.
type Filter struct {
	Tag    byte     // of its only list
	Values []string // of that list
	Tally  *Tally
}

// Add takes what the filters for some items of a layer told. It takes nothing unless all of them were compared in full.
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
	b.recount(w)
}

// note takes what was found of repositories.
func (b *Book) note(l want.Layer, found map[uint32]Count) {
	into := b.last
	if b.filling {
		into = b.next
	}
	for ord, s := range found {
		x := into[ord]
		if l == want.LayerRepositories { // a new revision is asked in place of the former one
			x.own = s
		} else {
			x.roots = x.roots.plus(s)
		}
		into[ord] = x
	}
}

// recount works the totals out, whenever what is wanted or known of it changes: that takes a walk through all of it anyway.
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

// Of returns what counts of the repository with that Ord.
func (b *Book) Of(ord uint32) Count { return b.last[ord].sum() }

// Kept yields the Ord of the repository that each figure is of that is kept. A repository has up to three.
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

// Total returns what counts of all repositories that are wanted, and of how many of them the relay lacks any event.
func (b *Book) Total() (s Count, lacking int) { return b.totals.Count, b.totals.lacking }

// Tell returns the repository of which the relay lacks most, if the operator is to be told at the time now; nil otherwise.
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
