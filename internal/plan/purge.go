package plan

import "github.com/graspd/graspd/internal/fifo"

// purge takes what was abandoned out of the queues when it is more than what waits
// there: while few requests are answered nothing else does, and items come and go.
func (c *catchup) purge() {
	for layer := range c.fresh {
		if q := &c.fresh[layer]; q.Len() > 2*len(c.groups)+spareQueue {
			*q = living(q, func(g *group) bool { return g.over })
		}
		if q := &c.ready[layer]; q.Len() > tasksPerGroup*len(c.groups)+spareQueue {
			*q = living(q, func(t *task) bool { return t.over })
		}
	}
}

// How long the queues may be before they are looked through.
const (
	spareQueue    = 16
	tasksPerGroup = 16 // more than most have
)

func living[T any](q *fifo.Queue[T], over func(T) bool) (left fifo.Queue[T]) {
	for x := range q.All() {
		if !over(x) {
			left.Push(x)
		}
	}
	return left
}
