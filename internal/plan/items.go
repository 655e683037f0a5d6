package plan

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/graspd/graspd/internal/want"
)

const setPage = 64

// itemSet is a sparse set of items. Pages exist only where an item was put, so
// a relay pays for its own items and not for all.
type itemSet struct {
	pages []itemPage // in order
	n     int
}

// itemPage is the items from no*setPage on, of which there is at least one.
type itemPage struct {
	no   want.Item
	bits uint64
}

// find returns the place of the page for an item, and whether it is there. Most are looked for when they are new, and
// stand in the last one.
func (s *itemSet) find(it want.Item) (int, bool) {
	no, last := it/setPage, len(s.pages)-1
	switch {
	case last < 0 || s.pages[last].no < no:
		return last + 1, false
	case s.pages[last].no == no:
		return last, true
	}
	return slices.BinarySearchFunc(s.pages, no, func(p itemPage, no want.Item) int { return cmp.Compare(p.no, no) })
}

func (s *itemSet) has(it want.Item) bool {
	i, ok := s.find(it)
	return ok && s.pages[i].bits&(1<<(it%setPage)) != 0
}

// put adds it and reports whether that is new.
func (s *itemSet) put(it want.Item) bool {
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

// drop takes it out and reports whether it was there.
func (s *itemSet) drop(it want.Item) bool {
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

// above yields the items of greater number, in order.
func (s *itemSet) above(it want.Item) iter.Seq[want.Item] {
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

func (s *itemSet) clear() { *s = itemSet{} }

func setOf(items iter.Seq[want.Item]) (s itemSet) {
	for it := range items {
		s.put(it)
	}
	return s
}

// known is items of which something is known; those that are repositories are told apart, to be counted.
type known struct {
	itemSet
	repos itemSet
}

func (k *known) put(it want.Item, repo bool) bool {
	if repo {
		k.repos.put(it)
	}
	return k.itemSet.put(it)
}

func (k *known) drop(it want.Item) bool {
	k.repos.drop(it)
	return k.itemSet.drop(it)
}

func (k *known) clear() { *k = known{} }

// bag counts items that may be wanted through several repositories.
type bag struct {
	itemSet
	more map[want.Item]int // above one
}

// add counts it once more and reports whether it is new.
func (b *bag) add(it want.Item) bool {
	if b.put(it) {
		return true
	}
	if b.more == nil {
		b.more = make(map[want.Item]int)
	}
	b.more[it]++
	return false
}

// sub counts it once less and reports whether it is gone.
func (b *bag) sub(it want.Item) bool {
	switch b.more[it] {
	case 0:
		return b.drop(it)
	case 1:
		delete(b.more, it)
	default:
		b.more[it]--
	}
	return false
}
