// Package fifo has a first-in first-out queue whose memory follows its length.
package fifo

import (
	"iter"
	"slices"
)

// Queue holds elements in the order in which they came. The zero Queue is empty.
type Queue[T any] struct {
	items []T
	head  int
}

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// All yields the elements, the oldest first.
func (q *Queue[T]) All() iter.Seq[T] { return slices.Values(q.items[q.head:]) }

// Push adds v behind all others.
func (q *Queue[T]) Push(v T) { q.items = append(q.items, v) }

// PushFront puts v before all others. It may copy the queue, so it is for the
// rare return of an element that was popped.
func (q *Queue[T]) PushFront(v T) {
	if q.head == 0 {
		q.items = append([]T{v}, q.items...)
		return
	}
	q.head--
	q.items[q.head] = v
}

// Peek returns the oldest element, or the zero value for an empty queue.
func (q *Queue[T]) Peek() (v T) {
	if q.Len() > 0 {
		v = q.items[q.head]
	}
	return v
}

// Pop removes the oldest element and returns it, or the zero value for an empty queue.
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

// DeleteFunc takes out the elements that are gone.
func (q *Queue[T]) DeleteFunc(gone func(T) bool) {
	var left Queue[T]
	for v := range q.All() {
		if !gone(v) {
			left.Push(v)
		}
	}
	*q = left
}
