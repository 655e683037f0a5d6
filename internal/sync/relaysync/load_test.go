package relaysync

import (
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// What the store yields newest first is brought into the order of the set that is made of it, with its values.
func TestValuesFollowTheOrderOfTheSet(t *testing.T) {
	item := func(at uint64, id byte) negentropy.Item { return negentropy.Item{Time: at, ID: [32]byte{id}} }
	items := []negentropy.Item{item(9, 7), item(5, 1), item(5, 2), item(5, 8), item(4, 3), item(1, 0), item(1, 9)}
	values := []int16{97, 51, 52, 58, 43, 10, 19}
	ascend(items, values)
	if want := []int16{10, 19, 43, 51, 52, 58, 97}; !slices.Equal(values, want) {
		t.Errorf("values %v, want %v", values, want)
	}
	set := negentropy.NewSet(slices.Clone(items))
	for i := range items {
		if set.At(i) != items[i] {
			t.Errorf("item %d is another in the set", i)
		}
	}
	ascend(nil, nil)
}
