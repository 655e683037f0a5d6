package index

import (
	"fmt"
	"iter"
)

// sequence yields what read passes to yield, and then read's error. A caller that has left gets nothing more: neither what read finds on its
// way out, nor an error of read that comes from the caller's leaving.
func sequence[T any](what string, read func(yield func(T, error) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := false
		err := read(func(v T, err error) bool {
			left = left || !yield(v, err)
			return !left
		})
		if err != nil && !left {
			var none T
			yield(none, fmt.Errorf("%s: %w", what, err))
		}
	}
}
