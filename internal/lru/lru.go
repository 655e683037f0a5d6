// Package lru keeps what was asked for last, within a bound of what all of it costs.
package lru

import "container/list"

// Cache is values by key, of which those that nobody asked for the longest go first when there are too many. Whoever has it guards it.
type Cache[K comparable, V any] struct {
	most  int
	by    map[K]*list.Element // of *entry
	order list.List           // the last asked for in front
	cost  int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

// New makes a cache of what costs at most so much in all, in whatever unit. A bound below 1 keeps what costs nothing.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, by: map[K]*list.Element{}}
}

// Get is the value that was put under a key last, if it is kept.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.by[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value, which costs so much (0 or more), in the place of the one before. What costs more than all may is not kept.
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

// Len is how many are kept.
func (c *Cache[K, V]) Len() int { return c.order.Len() }

// Cost is what all that is kept costs together.
func (c *Cache[K, V]) Cost() int { return c.cost }
