package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestADeletionIsPurgedInSteps: what a deletion names beyond its first part is done as far as the rows of a step go, and counts as
// work of the batch that the deletion came in.
func TestADeletionIsPurgedInSteps(t *testing.T) {
	s := open(t, store.Options{Dir: "data/store", FS: vfs.NewMem(), DeleteAtOnce: 10})
	defer s.Close()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	names := func(n int) (tags []nostr.Tag) {
		for i := range n {
			tags = append(tags, nostr.Tag{"e", fmt.Sprintf("%064x", i)})
		}
		return tags
	}
	steps := func(e *nostr.Event) int {
		t.Helper()
		before := b.Steps()
		if out, err := b.Add(e, store.Live); out != policy.Accept || err != nil {
			t.Fatal(out, err)
		}
		return b.Steps() - before
	}
	few, many := steps(storetest.Deletion(1, storetest.Start, names(10)...)), steps(storetest.Deletion(2, storetest.Start, names(210)...))
	if each := (many - few) / 200; each < 10 || each > 20 {
		t.Errorf("each further name is charged %d steps", each)
	}
	n := 0
	for more := true; more; n++ {
		if more, err = b.Purge(50); err != nil {
			t.Fatal(err)
		}
	}
	if n < 10 || n > 30 {
		t.Errorf("200 names took %d steps of 50 rows", n)
	}
}

// TestAClockThatWasAhead: what was remembered as expired later than now is not known, nor claimed in a reconciliation, whatever it is
// found by; once it is that late it is.
func TestAClockThatWasAhead(t *testing.T) {
	now := int64(storetest.Start + 1000)
	s := open(t, store.Options{Dir: "data/store", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(now, 0) }})
	defer s.Close()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	e := storetest.Event(1, storetest.Start, 1, "", nostr.Tag{"e", storetest.Start8}, nostr.Tag{"expiration", fmt.Sprint(storetest.Start + 900)})
	if err := b.Remember(e, policy.Expired); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  int64
		want int
	}{{0, 1}, {-1, 0}, {-500, 0}, {1, 1}} {
		now = storetest.Start + 1000 + c.now
		v := s.View()
		for _, f := range []nostr.Filter{{}, {Kinds: []nostr.Kind{1}}, {Tags: []nostr.TagFilter{{Name: 'e', Values: []string{storetest.Start8}}}}} {
			n := 0
			for _, err := range v.Pairs(t.Context(), f, true) {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			if n != c.want {
				t.Errorf("%+d s: %d are claimed by %s", c.now, n, f.Key())
			}
		}
		if k, err := v.Known(e.ID); err != nil || (k.State == store.Remembered) != (c.want == 1) {
			t.Errorf("%+d s: known as %v, %v", c.now, k, err)
		}
		v.Close()
	}
}
