package store_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestQuietUntil: what is said without reading is never later than what expires next.
func TestQuietUntil(t *testing.T) {
	const start = storetest.Start
	o := store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(start, 0) }}
	s := open(t, o)
	n := 0
	expiring := func(at int64) *nostr.Event {
		n++
		return storetest.Event(1, start, 1621, fmt.Sprint(n), nostr.Tag{"expiration", fmt.Sprint(at)})
	}
	look := func(at int64, keep bool, add ...*nostr.Event) {
		t.Helper()
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		for _, e := range add {
			if _, err := b.Add(e, store.Live); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := b.ExpireDue(time.Unix(at, 0), 10, nil); err != nil {
			t.Fatal(err)
		}
		if keep {
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(when string, at int64) {
		t.Helper()
		if got := s.QuietUntil(); got != at {
			t.Errorf("%s: quiet until %d, want %d", when, got, at)
		}
	}
	addAll(t, s, expiring(start+50))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if got := s.QuietUntil(); got > start {
		t.Errorf("a store that was just opened is quiet until %d", got)
	}
	look(start, false)
	want("after a look that found nothing", start+50)
	look(start, false, expiring(start+20))
	want("after a batch that was given up", start+50)
	look(start+60, false, expiring(start+90))
	want("what was due is still here", start+50)
	addAll(t, s, expiring(start+30))
	want("after one that expires earlier", start+30)
	look(start+60, true)
	want("when all has expired", math.MaxInt64)
	addAll(t, s, expiring(start+70))
	want("after one more", start+70)
}
