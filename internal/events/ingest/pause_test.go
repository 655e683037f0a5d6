package ingest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
)

// TestTheWriterWaitsWithABatchOpen: the writer looks at the store once a minute, and not while a batch is open. Where one is open as the minute
// ends, the writer waits for the batch's end and does not look again and again: in a bubble such a writer would stop time.
func TestTheWriterWaitsWithABatchOpen(t *testing.T) {
	watchdog := time.AfterFunc(20*time.Second, func() { panic("the writer does not wait") })
	defer watchdog.Stop()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		s := w.peer("wss://peer.example.com")
		defer s.Close()
		synctest.Wait()
		time.Sleep(ingest.ReopenEvery - ingest.QuietGap/2)
		begun := time.Now()
		for n := range 2 * ingest.QuietBurst { // the first ones have a commit each at once
			w.want(w.fetch(s, announcement(n, "d", time.Now())), policy.Accept)
		}
		if took := time.Since(begun); took <= ingest.QuietGap/2 {
			t.Errorf("no batch was open as the minute ended: all took %v", took)
		}
	})
}
