package plan_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"graspd/internal/nostr"
	"graspd/internal/plan"
)

// TestStatusWalksNothing: how much is wanted of a relay makes no difference to what its status costs.
func TestStatusWalksNothing(t *testing.T) {
	allocations := make(map[int]float64)
	for _, n := range []int{10, 3000} {
		f := newFold(t)
		for i := range n {
			f.add(f.announce(key(i%70), fmt.Sprint("repo ", i), 1, []string{us, string(here)}))
		}
		f.step()
		s := &shelves{driver: newDriver(t, plan.Config{}), mint: mint{n: 1 << 32}, f: f, lacks: map[nostr.ID]bool{}}
		s.neg = func(nostr.Filter) []*nostr.Event { return nil }
		s.own = s.neg
		s.connect(s.want(), plan.Limits{})
		s.pass(time.Hour)
		before := s.peer.Status()
		if before.Confirmed.Repositories != n || before.Phase != "live" {
			t.Fatalf("%+v", before)
		}
		s.peer.Blind()
		if after := s.peer.Status(); !reflect.DeepEqual(before, after) {
			t.Errorf("%d repositories: %+v, and without a look at them %+v", n, before, after)
		}
		allocations[n] = testing.AllocsPerRun(10, func() { s.peer.Status() })
	}
	if allocations[10] != allocations[3000] {
		t.Errorf("allocations: %v", allocations)
	}
}
