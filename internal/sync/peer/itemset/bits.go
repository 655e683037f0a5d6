package itemset

import (
	"slices"

	"github.com/graspd/graspd/internal/sync/want"
)

// Bits is a set of items that is asked about all that there are: it has a bit for each number up to its last item, where Set has pages to search.
type Bits []uint64

// BitsOf returns a Bits with these items.
func BitsOf(items []want.Item) Bits {
	if len(items) == 0 {
		return nil
	}
	b := make(Bits, slices.Max(items)/64+1)
	for _, it := range items {
		b[it/64] |= 1 << (it % 64)
	}
	return b
}

// Has reports whether an item is in the set.
func (b Bits) Has(it want.Item) bool {
	return int(it/64) < len(b) && b[it/64]&(1<<(it%64)) != 0
}
