package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestFeedUnderLoad: readers that follow the feed from anywhere, while events are added and removed, see every number
// once and in order; and stored-then-live, which starts at the head of a view, has neither gap nor repeat.
func TestFeedUnderLoad(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), TableBytes: 256 << 10})
	last := store.Seq(seeds(3000)) // entries
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { followAll(t, s, last) })
		wg.Go(func() { storedThenLive(t, s, last, last/16*store.Seq(i)) })
	}
	pad := strings.Repeat("x", 12_000_000/int(last)) // so much that the slow have to read from disk
	var previous nostr.ID
	for i := 0; s.Head() < last; i++ {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for j := range 1 + i%7 {
			e := storetest.Event(1, int64(i), 1, fmt.Sprint(i, j, pad))
			if _, err := b.Add(e, store.Live); err != nil {
				t.Fatal(err)
			}
			if j == 3 {
				if err := b.Remove(previous, store.ReasonWithdrawn); err != nil {
					t.Fatal(err)
				}
				previous = e.ID
			}
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// follow calls do with every entry after a number until last has come.
func follow(t *testing.T, s *store.Store, after, last store.Seq, page int, do func(store.Entry)) {
	for after < last {
		entries, changed, err := s.Since(after, page)
		if err != nil {
			t.Error(err)
			return
		}
		for _, e := range entries {
			if e.Seq <= after {
				t.Errorf("entry %d after %d", e.Seq, after)
			}
			after = e.Seq
			do(e)
		}
		if len(entries) == 0 {
			<-changed
		}
	}
}

// followAll reads from the beginning: whatever is not shown has been removed again.
func followAll(t *testing.T, s *store.Store, last store.Seq) {
	shown := map[nostr.ID]bool{}
	var seen, next store.Seq
	skipped := 0
	follow(t, s, 0, last, 10, func(e store.Entry) {
		skipped += int(e.Seq - next - 1)
		next = e.Seq
		seen++
		if e.Event == nil {
			if !shown[e.Removed] {
				skipped-- // it was gone before we came
			}
			return
		}
		shown[e.Event.ID] = true
	})
	if skipped != 0 {
		t.Errorf("%d entries missing", skipped)
	}
}

// storedThenLive reads a view and then the feed after it, from some time on.
func storedThenLive(t *testing.T, s *store.Store, last, start store.Seq) {
	follow(t, s, 0, start, 100, func(store.Entry) {})
	v := s.View()
	defer v.Close()
	have := map[nostr.ID]bool{}
	for row, err := range v.Query(t.Context(), everything) {
		if err != nil {
			t.Error(err)
			return
		}
		if row.Seq > v.Head() {
			t.Errorf("row %d in a view of head %d", row.Seq, v.Head())
		}
		have[row.ID] = true
	}
	follow(t, s, v.Head(), last, 1000, func(e store.Entry) {
		switch {
		case e.Event == nil && !have[e.Removed]:
			t.Errorf("%d: removed what was never there", e.Seq)
		case e.Event == nil:
			delete(have, e.Removed)
		case have[e.Event.ID]:
			t.Errorf("%d: an event came twice", e.Seq)
		default:
			have[e.Event.ID] = true
		}
	})
	if n := len(readAll(t, s)); n != len(have) {
		t.Errorf("%d events after following, %d there", len(have), n)
	}
}
