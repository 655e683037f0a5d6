// Package fifo is a first-in first-out queue whose memory follows its length.
package fifo

import (
	"iter"
	"slices"
)

// Queue holds elements in the order in which they came. The zero value is empty.
type Queue[T any] struct {
	items []T
	head  int
}

// Len is the number of elements.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// All gives the elements, the oldest first.
func (q *Queue[T]) All() iter.Seq[T] { return slices.Values(q.items[q.head:]) }

// Push adds v behind all others.
func (q *Queue[T]) Push(v T) { q.items = append(q.items, v) }

// PushFront puts v before all others. It is for the rare return of something
// that was popped, and may copy the queue.
func (q *Queue[T]) PushFront(v T) {
	if q.head == 0 {
		q.items = append([]T{v}, q.items...)
		return
	}
	q.head--
	q.items[q.head] = v
}

// Peek is the oldest element, or the zero value of an empty queue.
func (q *Queue[T]) Peek() (v T) {
	if q.Len() > 0 {
		v = q.items[q.head]
	}
	return v
}

// Pop removes the oldest element and gives it, or the zero value of an empty queue.
func (q *Queue[T]) Pop() (v T) {
	if q.Len() == 0 {
		return v
	}
	var zero T
	v, q.items[q.head] = q.items[q.head], zero
	q.head++
	switch {
	case q.Len() == 0:
		*q = Queue[T]{}
	case q.head >= 64 && q.head > q.Len():
		*q = Queue[T]{items: append([]T(nil), q.items[q.head:]...)}
	}
	return v
}
