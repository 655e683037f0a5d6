package gitsync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/git/gitsync"
)

// A sweep over a thousand repositories reads what is durable: it needs no turn of the writer, who is held up meanwhile, and makes no commit.
func TestASweepNeedsNoWriter(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		const all = 1000
		for i := range all {
			w.announce(byte(i%25), fmt.Sprint("tool", i))
		}
		w.end()
		w.start()
		release, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- w.door.Exclusively(t.Context(), "", func(*ingest.Exclusive) error { <-release; return nil })
		}()
		head, commits := w.store.Head(), w.door.Stats().Commits
		w.pass(10 * time.Second)
		if s := w.sync.Stats(); s.Sweeps != 1 || s.Swept != all || s.ToSweep != all {
			t.Errorf("%d sweeps, %d of %d looked at", s.Sweeps, s.Swept, s.ToSweep)
		}
		close(release)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if h, c := w.store.Head(), w.door.Stats().Commits; h != head || c != commits {
			t.Errorf("%d entries more in %d commits", h-head, c-commits)
		}
	})
}
