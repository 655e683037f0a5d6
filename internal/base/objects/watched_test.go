package objects_test

import (
	"context"
	"strings"
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
		asks := map[string]func(context.Context) error{
			"put":    func(ctx context.Context) error { _, err := w.Put(ctx, "name", strings.NewReader("x")); return err },
			"get":    func(ctx context.Context) error { _, err := w.Get(ctx, "name", 0, 1); return err },
			"head":   func(ctx context.Context) error { _, err := w.Head(ctx, "name"); return err },
			"list":   func(ctx context.Context) error { _, err := w.List(ctx, "", "", 1); return err },
			"delete": func(ctx context.Context) error { return w.Delete(ctx, "name") },
		}
		requests, failures := uint64(0), uint64(0)
		for what, ask := range asks {
			away = true
			for range 3 {
				if err := ask(t.Context()); err == nil {
					t.Error(what)
				}
			}
			requests, failures = requests+3, failures+3
			since := time.Now().Add(-2 * time.Second)
			ended, end := context.WithCancel(t.Context())
			end()
			if err := ask(ended); err == nil {
				t.Error(what)
			}
			requests++
			if s := w.Stats(); s.Last == nil || !s.Since.Equal(since) || s.Failures != failures || s.Requests != requests {
				t.Errorf("%s: %+v, want %d of %d since %v", what, s, failures, requests, since)
			}
			away = false
			if _, err := w.Get(t.Context(), "nothing", 0, 1); err != objects.ErrNone {
				t.Error(err)
			}
			requests++
			if s := w.Stats(); s.Last != nil || !s.Since.IsZero() || s.Requests != requests {
				t.Errorf("after %s: %+v", what, s)
			}
		}
	})
}
