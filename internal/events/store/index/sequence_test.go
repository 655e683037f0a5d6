package index_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

// What goes on after its reader has left, and fails then, is not heard.
func TestWhatGoesOnIsNotHeard(t *testing.T) {
	itertest.Seq2(t, func(context.Context) iter.Seq2[int, error] {
		return index.SequenceOf("count", func(yield func(int, error) bool) error {
			for i := range 5 {
				yield(i, nil)
			}
			return errors.New("too late")
		})
	})
}
