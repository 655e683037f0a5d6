package fifo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Any sequence of operations does what it does to a plain slice.
func TestLikeASlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q Queue[*int]
	var model []*int
	for range 20_000 {
		v := new(int)
		switch n := r.IntN(100); {
		case n < 48:
			q.Push(v)
			model = append(model, v)
		case n < 50:
			q.PushFront(v)
			model = slices.Insert(model, 0, v)
		case n < 51:
			gone := make(map[*int]bool)
			for _, x := range model {
				gone[x] = r.IntN(2) == 0
			}
			q.DeleteFunc(func(x *int) bool { return gone[x] })
			model = slices.DeleteFunc(model, func(x *int) bool { return gone[x] })
		case n < 52:
			for len(model) > 0 {
				if q.Pop() != model[0] {
					t.Fatal("not the oldest")
				}
				model = model[1:]
			}
		default:
			var want *int
			if len(model) > 0 {
				want, model = model[0], model[1:]
			}
			if q.Peek() != want || q.Pop() != want {
				t.Fatal("not the oldest")
			}
		}
		if !slices.Equal(slices.Collect(q.All()), model) || q.Len() != len(model) {
			t.Fatalf("%d elements, want %d", q.Len(), len(model))
		}
	}
}

// What was taken is not held, and neither is room for it.
func TestMemoryFollowsLength(t *testing.T) {
	var q Queue[*int]
	for range 10_000 {
		q.Push(new(int))
	}
	for range 9_900 {
		q.Pop()
	}
	if len(q.items) > 400 {
		t.Errorf("%d places for %d elements", len(q.items), q.Len())
	}
	for _, v := range q.items[:q.head] {
		if v != nil {
			t.Fatal("a taken element is held")
		}
	}
	for range 100 {
		q.Pop()
	}
	if q.items != nil || q.Peek() != nil || q.Pop() != nil {
		t.Error("an empty queue holds memory")
	}
}
