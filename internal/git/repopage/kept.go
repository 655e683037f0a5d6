package repopage

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/lru"
)

// kept keeps values, each until a time, within a bound of their cost. Where room is short, what nobody has asked for the longest goes first.
type kept[K comparable, V any] struct {
	mu  sync.Mutex
	all *lru.Cache[K, until[V]]
}

type until[V any] struct {
	value V
	end   time.Time // zero: as long as there is room
}

func newKept[K comparable, V any](most int) *kept[K, V] {
	return &kept[K, V]{all: lru.New[K, until[V]](most)}
}

func (k *kept[K, V]) get(key K, now time.Time) (value V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x, ok := k.all.Get(key)
	return x.value, ok && (x.end.IsZero() || now.Before(x.end))
}

func (k *kept[K, V]) put(key K, value V, end time.Time, cost int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.Put(key, until[V]{value, end}, cost)
}
