package itemset

import (
	"context"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

// Whoever goes through items may stop anywhere.
func TestTheSequenceOfItemsEndsWithItsReader(t *testing.T) {
	var s Set
	for it := range want.Item(200) {
		s.Put(it * 7)
	}
	itertest.Seq(t, func(context.Context) iter.Seq[want.Item] { return s.Above(30) })
}

// Nor does whoever goes through lots see all of them.
func TestTheItemsOfLotsEndWithTheirReader(t *testing.T) {
	lots := []Lot{{Items: []want.Item{1, 2, 3}}, {}, {Items: []want.Item{4, 5}}}
	itertest.Seq(t, func(context.Context) iter.Seq[want.Item] { return Each(lots) })
}
