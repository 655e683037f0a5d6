package plan

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
)

const setPage = 256

// itemSet is a sparse set of items. Pages exist only where an item was put, so
// a relay pays for its own items and not for all.
type itemSet struct {
	pages map[Item]*[setPage / 64]uint64
	n     int
}

func (s *itemSet) has(it Item) bool {
	p := s.pages[it/setPage]
	return p != nil && p[it%setPage/64]&(1<<(it%64)) != 0
}

// put adds it and reports whether that is new.
func (s *itemSet) put(it Item) bool {
	if s.has(it) {
		return false
	}
	if s.pages == nil {
		s.pages = make(map[Item]*[setPage / 64]uint64)
	}
	p := s.pages[it/setPage]
	if p == nil {
		p = new([setPage / 64]uint64)
		s.pages[it/setPage] = p
	}
	p[it%setPage/64] |= 1 << (it % 64)
	s.n++
	return true
}

// drop takes it out and reports whether it was there.
func (s *itemSet) drop(it Item) bool {
	if !s.has(it) {
		return false
	}
	p := s.pages[it/setPage]
	p[it%setPage/64] &^= 1 << (it % 64)
	if *p == ([setPage / 64]uint64{}) {
		delete(s.pages, it/setPage)
	}
	s.n--
	return true
}

// above yields the items of greater number, in order.
func (s *itemSet) above(it Item) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for _, page := range slices.Sorted(maps.Keys(s.pages)) {
			if page < it/setPage {
				continue
			}
			for i, word := range s.pages[page] {
				for ; word != 0; word &= word - 1 {
					x := page*setPage + Item(i*64+bits.TrailingZeros64(word))
					if x > it && !yield(x) {
						return
					}
				}
			}
		}
	}
}

func (s *itemSet) clear() { *s = itemSet{} }

// bag counts items that may be wanted through several repositories.
type bag struct {
	itemSet
	more map[Item]int // above one
}

// add counts it once more and reports whether it is new.
func (b *bag) add(it Item) bool {
	if b.put(it) {
		return true
	}
	if b.more == nil {
		b.more = make(map[Item]int)
	}
	b.more[it]++
	return false
}

// sub counts it once less and reports whether it is gone.
func (b *bag) sub(it Item) bool {
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
