package store_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWaitsUntil: what is said without reading is never later than the next wait is over.
func TestWaitsUntil(t *testing.T) {
	const start = storetest.Start
	o := store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(start, 0) }}
	s := open(t, o)
	n := 0
	look := func(at int64, lapse, keep bool, ends ...int64) (last nostr.ID) {
		t.Helper()
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		for _, end := range ends {
			n++
			e := storetest.Event(1, start, 1618, fmt.Sprint(n))
			if out, err := b.Wait(e, store.Wait{Until: end}); out != policy.Wait || err != nil {
				t.Fatal(out, err)
			}
			last = e.ID
		}
		if lapse {
			if _, _, err := b.LapseDue(time.Unix(at, 0), 10, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if keep {
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	want := func(when string, at int64) {
		t.Helper()
		if got := s.WaitsUntil(); got != at {
			t.Errorf("%s: waits until %d, want %d", when, got, at)
		}
	}
	id := look(start, false, true, start+50)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if got := s.WaitsUntil(); got > start {
		t.Errorf("in a store that was just opened the next wait is over at %d", got)
	}
	look(start, true, false)
	want("after a look that found nothing", start+50)
	look(start, true, false, start+20)
	want("after a batch that was given up", start+50)
	look(start+60, true, false)
	want("what is over is still here", start+50)
	look(start, false, true, start+30)
	want("after one that is over earlier", start+30)
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Postpone(id, start+10); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	want("after another end of the first one", start+10)
	look(start+60, true, true)
	want("when nothing waits", math.MaxInt64)
	look(start, false, true, start+70)
	want("after one more", start+70)
}
