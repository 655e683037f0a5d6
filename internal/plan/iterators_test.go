package plan

import (
	"context"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/testkit/itertest"
)

// Whoever goes through items may stop anywhere.
func TestTheSequenceOfItemsEndsWithItsReader(t *testing.T) {
	var s itemSet
	for it := range Item(200) {
		s.put(it * 7)
	}
	itertest.Seq(t, func(context.Context) iter.Seq[Item] { return s.above(30) })
}

// Nor does whoever goes through lots see all of them.
func TestTheItemsOfLotsEndWithTheirReader(t *testing.T) {
	lots := []lot{{items: []Item{1, 2, 3}}, {}, {items: []Item{4, 5}}}
	itertest.Seq(t, func(context.Context) iter.Seq[Item] { return each(lots) })
}
