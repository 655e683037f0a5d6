package index

import (
	"fmt"
	"iter"
)

// sequence yields what read passes on, and read's error last. A reader that has left gets nothing more: neither what read finds
// on its way out, nor that the reader's own end was met there.
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
