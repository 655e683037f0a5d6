package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// TestInBubble: a store can be opened, used and closed under a fake clock, more than once in a process, and costs
// nothing while nothing happens: a simulated year passes at once.
func TestInBubble(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), TableBytes: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			e := storetest.Event(1, time.Now().Unix(), 1, "", []string{"expiration", "946688400"}) // an hour from the start
			b, err := s.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if out, err := b.Add(e, store.Direct); out != policy.Accept || err != nil {
				t.Fatal(out, err)
			}
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			woken := make(chan time.Time, 1)
			go func() {
				_, changed, _ := s.Since(1, 1)
				<-changed
				woken <- time.Now()
			}()
			time.Sleep(365 * 24 * time.Hour)
			if n := len(readAll(t, s)); n != 0 {
				t.Errorf("%d events a year after they expired", n)
			}
			if n := len(fill(s, 0, 200)); n != 200 {
				t.Errorf("%d commits", n)
			}
			if at := <-woken; time.Since(at) != 0 {
				t.Errorf("a reader was woken late")
			}
			store.Compact(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
