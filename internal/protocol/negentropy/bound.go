package negentropy

import "math"

// bound separates two ranges: it is the first item, real or not, that the lower
// range does not hold. The id is a prefix, filled up with zeros.
type bound struct {
	Item
	size int // bytes of the prefix that stand on the wire
}

// infinity returns the bound above all items.
func infinity() bound { return bound{Item: Item{Time: math.MaxUint64}} }

// infinite reports whether b is above all items. The protocol reserves the
// greatest time for such a bound, with any prefix.
func (b *bound) infinite() bool { return b.Time == math.MaxUint64 }

// before returns the bound just below an item.
func before(item *Item) bound { return bound{*item, len(item.ID)} }

// between returns the shortest bound above one item and not above the next.
func between(last, next *Item) bound {
	b := bound{Item: Item{Time: next.Time}}
	if last.Time != next.Time {
		return b
	}
	for b.size < len(next.ID) {
		i := b.size
		b.ID[i] = next.ID[i]
		b.size++
		if last.ID[i] != next.ID[i] {
			break
		}
	}
	return b
}
