package lru_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/base/lru"
)

func TestWhatIsAskedForLastStays(t *testing.T) {
	c := lru.New[string, int](10)
	c.Put("a", 1, 4)
	c.Put("b", 2, 4)
	if v, ok := c.Get("a"); !ok || v != 1 {
		t.Errorf("a: %d, %v", v, ok)
	}
	c.Put("c", 3, 4)
	if _, ok := c.Get("b"); ok || c.Len() != 2 || c.Cost() != 8 {
		t.Errorf("%d kept, which cost %d", c.Len(), c.Cost())
	}
	c.Put("a", 4, 6)
	if v, ok := c.Get("a"); !ok || v != 4 || c.Cost() != 10 {
		t.Errorf("a: %d, %v, %d", v, ok, c.Cost())
	}
	c.Put("a", 5, 11)
	if _, ok := c.Get("a"); ok || c.Len() != 1 {
		t.Errorf("what costs too much, or was before it, is kept: %d", c.Len())
	}
}

// Whatever is put and asked for, what is kept is the last that has room, as a list says.
func TestRandomUse(t *testing.T) {
	type one struct{ key, value, cost int }
	chance := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		most := chance.IntN(40)
		c := lru.New[int, int](most)
		var all []one // the last in front
		for step := range 200 {
			key := chance.IntN(12)
			i := slices.IndexFunc(all, func(o one) bool { return o.key == key })
			if chance.IntN(2) == 0 {
				v, ok := c.Get(key)
				if ok != (i >= 0) || ok && v != all[i].value {
					t.Fatalf("%d: %d, %v", key, v, ok)
				}
				if ok {
					o := all[i]
					all = slices.Insert(slices.Delete(all, i, i+1), 0, o)
				}
				continue
			}
			cost := chance.IntN(15)
			c.Put(key, step, cost)
			if i >= 0 {
				all = slices.Delete(all, i, i+1)
			}
			if cost <= most {
				all = slices.Insert(all, 0, one{key, step, cost})
			}
			sum := 0
			for n, o := range all {
				if sum += o.cost; sum > most {
					sum, all = sum-o.cost, all[:n]
					break
				}
			}
			if c.Len() != len(all) || c.Cost() != sum {
				t.Fatalf("%d kept, which cost %d; and not %d, %d", c.Len(), c.Cost(), len(all), sum)
			}
		}
	}
}
