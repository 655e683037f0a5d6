package index_test

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// TestEveryIndexGivesTheSameAnswer: which index is read is a matter of cost only.
func TestEveryIndexGivesTheSameAnswer(t *testing.T) {
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := storetest.NewWorld(3)
	now := int64(storetest.Start)
	for range 40 {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			now += int64(i % 2)
			e := w.Event(now)
			if i%5 == 0 {
				err = b.Remember(e, policy.Refuse)
			} else if out, e2 := b.Add(e, store.Live); e2 != nil {
				err = e2
			} else if out != policy.Accept && out != policy.Duplicate {
				err = b.Remember(e, out)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	v := s.View()
	defer v.Close()
	compared := uint64(0)
	for range 8 * seeds(375) {
		f := w.Filter(now)
		if f.Since != nil {
			*f.Since -= 300
		}
		if f.Until != nil {
			*f.Until -= 300
		}
		for _, flagged := range []bool{false, true} {
			answers, err := index.PairsBy(v.Reader(), f, flagged)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				if !slices.Equal(a, answers[0]) {
					t.Fatalf("%s, flagged %v: index %d gives %d, the first gives %d", f.AppendJSON(nil), flagged, i, len(a), len(answers[0]))
				}
			}
			if len(answers) > 1 && len(answers[0]) > 0 {
				compared++
			}
		}
	}
	if compared < seeds(400) {
		t.Errorf("only %d filters had more than one index and an answer", compared)
	}
}

// seeds is how many random worlds a test goes through.
func seeds(n uint64) uint64 {
	if storetest.UnderRace {
		return max(1, n/8)
	}
	return n
}
