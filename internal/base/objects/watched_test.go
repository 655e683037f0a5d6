package objects_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
)

func TestAWatchedStoreIsAStore(t *testing.T) {
	objecttest.Contract(t, func(testing.TB) objects.Store { return objects.Watch(new(objecttest.Memory)) })
}

// TestSinceWhenAStoreIsAway: since the first failure after the last answer, whatever was asked; what is not there, and what its caller gives up, is
// no failure.
func TestSinceWhenAStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := false
		w := objects.Watch(&objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: away, Delay: time.Second} }})
		for what, ask := range asking(w) {
			away = true
			for range 3 {
				if err := ask(t.Context()); err == nil {
					t.Error(what)
				}
			}
			since := time.Now().Add(-2 * time.Second)
			ended, end := context.WithCancel(t.Context())
			end()
			if err := ask(ended); err == nil {
				t.Error(what)
			}
			if s := w.Stats(); s.Last == nil || !s.Since.Equal(since) {
				t.Errorf("%s: %+v, want a failure since %v", what, s, since)
			}
			away = false
			if _, err := w.Get(t.Context(), "nothing", 0, 1); err != objects.ErrNone {
				t.Error(err)
			}
			if s := w.Stats(); s.Last != nil || !s.Since.IsZero() {
				t.Errorf("after %s: %+v", what, s)
			}
		}
	})
}

// TestWhatAStoreWasAsked: requests are counted by kind, with how long they took, and apart what failed.
func TestWhatAStoreWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := false
		w := objects.Watch(&objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: away, Delay: 3 * time.Second} }})
		n := 0
		for what, ask := range asking(w) {
			n++
			before := w.Stats()
			for range n {
				_ = ask(t.Context()) // some ask for what is not there
			}
			ended, end := context.WithCancel(t.Context())
			end()
			_ = ask(ended)
			away = true
			if err := ask(t.Context()); err == nil {
				t.Error(what)
			}
			away = false
			after := w.Stats()
			for i, kind := range objects.Kinds {
				var made uint64
				for class := range after.By[i].Took.Classes {
					made += after.By[i].Took.Classes[class] - before.By[i].Took.Classes[class]
				}
				took, failed := after.By[i].Took.Sum-before.By[i].Took.Sum, after.By[i].Failed-before.By[i].Failed
				want := 0
				if kind == what {
					want = n + 2
				}
				if made != uint64(want) || want > 0 && (failed != 1 || took != time.Duration(n+1)*3*time.Second) || want == 0 && failed+uint64(took) > 0 {
					t.Errorf("%d of %s: %d of %s, %d failed, %v", n, what, made, kind, failed, took)
				}
			}
		}
		if n != len(objects.Kinds) {
			t.Errorf("%d kinds", n)
		}
	})
}
