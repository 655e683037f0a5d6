// Package itemset holds items of a Want: in sets and counted bags, in which an item costs a relay two bytes, and in lots, whose items stand
// alike and are asked together. All its types are values; one goroutine at a time uses each. Read Set and Lot first.
package itemset

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/graspd/graspd/internal/sync/want"
)

// setPage is how many items a page has.
const setPage = 64

// Set is a sparse set of items. It has pages only where there is an item, so a relay pays for its own items and not for all. The zero Set is
// empty. A copy shares the pages of its original: use only one of the two from then on.
type Set struct {
	pages []itemPage // in order
	n     int
}

// itemPage has the items of a Set from no*setPage on, at least one.
type itemPage struct {
	no   want.Item
	bits uint64
}

// find returns the place of the page for an item, and whether the page is there. Most callers look for new items, which
// stand in the last page.
func (s *Set) find(it want.Item) (int, bool) {
	no, last := it/setPage, len(s.pages)-1
	switch {
	case last < 0 || s.pages[last].no < no:
		return last + 1, false
	case s.pages[last].no == no:
		return last, true
	}
	return slices.BinarySearchFunc(s.pages, no, func(p itemPage, no want.Item) int { return cmp.Compare(p.no, no) })
}

// Has reports whether an item is in the set.
func (s *Set) Has(it want.Item) bool {
	i, ok := s.find(it)
	return ok && s.pages[i].bits&(1<<(it%setPage)) != 0
}

// Put adds an item and reports whether that is new.
func (s *Set) Put(it want.Item) bool {
	i, ok := s.find(it)
	if !ok {
		s.pages = slices.Insert(s.pages, i, itemPage{no: it / setPage})
	}
	bit := uint64(1) << (it % setPage)
	if s.pages[i].bits&bit != 0 {
		return false
	}
	s.pages[i].bits |= bit
	s.n++
	return true
}

// Drop takes an item out and reports whether it was in the set.
func (s *Set) Drop(it want.Item) bool {
	i, ok := s.find(it)
	bit := uint64(1) << (it % setPage)
	if !ok || s.pages[i].bits&bit == 0 {
		return false
	}
	if s.pages[i].bits &^= bit; s.pages[i].bits == 0 {
		s.pages = slices.Delete(s.pages, i, i+1)
	}
	s.n--
	return true
}

// Above yields the items of greater number than it, in order. Nobody may change the set meanwhile.
func (s *Set) Above(it want.Item) iter.Seq[want.Item] {
	return func(yield func(want.Item) bool) {
		from, _ := s.find(it)
		for _, p := range s.pages[from:] {
			for b := p.bits; b != 0; b &= b - 1 {
				if x := p.no*setPage + want.Item(bits.TrailingZeros64(b)); x > it && !yield(x) {
					return
				}
			}
		}
	}
}

// Len returns how many items there are.
func (s *Set) Len() int { return s.n }

// Spread returns how many pages the set has: a bound of its memory.
func (s *Set) Spread() int { return len(s.pages) }

// Clear takes all items out.
func (s *Set) Clear() { *s = Set{} }

// Of returns a Set with these items.
func Of(items iter.Seq[want.Item]) (s Set) {
	for it := range items {
		s.Put(it)
	}
	return s
}

// Known is a set of items of which something is known. It has the repositories among them apart, to count them.
type Known struct {
	Set
	Repos Set // the repositories among them
}

// Put adds an item, which is a repository or not, and reports whether that is new.
func (k *Known) Put(it want.Item, repo bool) bool {
	if repo {
		k.Repos.Put(it)
	}
	return k.Set.Put(it)
}

// Drop takes an item out and reports whether it was known.
func (k *Known) Drop(it want.Item) bool {
	k.Repos.Drop(it)
	return k.Set.Drop(it)
}

// Clear takes all items out.
func (k *Known) Clear() { *k = Known{} }

// Bag counts items, as an item may be wanted through several repositories. The zero Bag is empty.
type Bag struct {
	Set
	more map[want.Item]int // how often beyond once an item counts
}

// Add counts an item once more and reports whether it is new.
func (b *Bag) Add(it want.Item) bool {
	if b.Put(it) {
		return true
	}
	if b.more == nil {
		b.more = make(map[want.Item]int)
	}
	b.more[it]++
	return false
}

// Sub counts an item once less and reports whether it is gone.
func (b *Bag) Sub(it want.Item) bool {
	switch b.more[it] {
	case 0:
		return b.Drop(it)
	case 1:
		delete(b.more, it)
	default:
		b.more[it]--
	}
	return false
}

// Repeats returns how many items count more than once.
func (b *Bag) Repeats() int { return len(b.more) }
