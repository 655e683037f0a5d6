package fifo

import (
	"context"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

func TestAllEndsWithItsReader(t *testing.T) {
	var q Queue[int]
	for i := range 20 {
		q.Push(i)
	}
	itertest.Seq(t, func(context.Context) iter.Seq[int] { return q.All() })
}
