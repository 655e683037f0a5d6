// Package lru keeps the values that were used last, within a bound of their cost.
package lru

import "container/list"

// Cache keeps values by key. When they cost too much, it drops those that nobody has used for the longest time. One goroutine at a time may
// use a Cache.
type Cache[K comparable, V any] struct {
	most  int
	by    map[K]*list.Element // of *entry
	order list.List           // the value used last in front
	cost  int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

// New makes a Cache whose values cost at most most together, in whatever unit. With a bound below 1 it keeps only values that cost nothing.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, by: map[K]*list.Element{}}
}

// Get returns the value that was put under the key last, if the Cache still has it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.by[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value, which costs cost (0 or more), in the place of the key's former value. It keeps no value that alone costs more than the
// bound.
func (c *Cache[K, V]) Put(key K, value V, cost int) {
	if e := c.by[key]; e != nil {
		c.drop(e)
	}
	if cost > c.most {
		return
	}
	c.by[key] = c.order.PushFront(&entry[K, V]{key, value, cost})
	for c.cost += cost; c.cost > c.most; {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	x := c.order.Remove(e).(*entry[K, V])
	delete(c.by, x.key)
	c.cost -= x.cost
}

// Len returns how many values the Cache has.
func (c *Cache[K, V]) Len() int { return c.order.Len() }

// Cost returns the cost of all values that the Cache has.
func (c *Cache[K, V]) Cost() int { return c.cost }
