package negentropy

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
)

// Item is one event as the protocol sees it.
type Item struct {
	Time uint64 // created_at in Unix seconds; the greatest value is reserved
	ID   [32]byte
}

// compare orders items by time, then by id.
func (a *Item) compare(b *Item) int {
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// stride is the distance of the stored prefix sums in items. A fingerprint adds
// up less than twice as many ids, and the sums take a twentieth of the memory of
// the items.
const stride = 16

// Set is a sealed set of items, sorted by time and then by id, without
// duplicates. It never changes, so any number of goroutines may read it.
type Set struct {
	items []Item
	sums  []sum // sums[j] is the sum of the ids of items[:j*stride]
}

// NewSet makes a set of items, in any order, and owns the slice from then on. It
// drops duplicates, and items at the greatest time, which the protocol cannot name.
func NewSet(items []Item) *Set {
	order := func(a, b Item) int { return a.compare(&b) }
	if !slices.IsSortedFunc(items, order) {
		slices.SortFunc(items, order)
	}
	items = slices.Compact(items)
	for len(items) > 0 && items[len(items)-1].Time == math.MaxUint64 {
		items = items[:len(items)-1]
	}
	s := &Set{items: items, sums: make([]sum, 0, len(items)/stride+1)}
	var total sum
	for i := range items {
		if i%stride == 0 {
			s.sums = append(s.sums, total)
		}
		total.add(&items[i].ID)
	}
	if len(items)%stride == 0 {
		s.sums = append(s.sums, total)
	}
	return s
}

// Len returns the number of items.
func (s *Set) Len() int { return len(s.items) }

// At returns the item at index i of the sorted set, 0 ≤ i < Len().
func (s *Set) At(i int) Item { return s.items[i] }

// search returns the index of the first item that is not below b, given that
// all items before index from are.
func (s *Set) search(b *bound, from int) int {
	if b.infinite() {
		return len(s.items)
	}
	return from + sort.Search(len(s.items)-from, func(i int) bool {
		return s.items[from+i].compare(&b.Item) >= 0
	})
}

// sumBefore returns the sum of the ids of items[:end].
func (s *Set) sumBefore(end int) sum {
	total := s.sums[end/stride]
	for i := end / stride * stride; i < end; i++ {
		total.add(&s.items[i].ID)
	}
	return total
}

// fingerprint returns the fingerprint of items[from:to].
func (s *Set) fingerprint(from, to int) [fingerprintSize]byte {
	var total sum
	if to-from <= stride {
		for i := from; i < to; i++ {
			total.add(&s.items[i].ID)
		}
	} else {
		before := s.sumBefore(from)
		total = s.sumBefore(to)
		total.subtract(&before)
	}
	return total.fingerprint(to - from)
}
