package store_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestADiscardedBatchLeavesNothingBehind: what a batch did that was dropped counts in no later decision.
func TestADiscardedBatchLeavesNothingBehind(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	state := storetest.Event(1, storetest.Start, 30618, "", []string{"d", "x"})
	old := storetest.Event(1, storetest.Start-1, 30618, "old", []string{"d", "x"})
	add := func(keep bool) {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		for range 2 { // the second look is at what the first one found
			if out, err := b.Outcome(old); out != policy.Accept || err != nil {
				t.Error("superseded by what was dropped", out, err)
			}
			if ok, err := b.HasAddress(state.Address()); ok || err != nil {
				t.Error("an address is held by what was dropped", err)
			}
			if ok, err := b.Has(state.ID); ok || err != nil {
				t.Error("what was dropped is here", err)
			}
		}
		if out, err := b.Add(state, store.Live); out != policy.Accept || err != nil {
			t.Fatal(out, err)
		}
		if ok, err := b.HasAddress(state.Address()); !ok || err != nil {
			t.Error("what is in the batch does not count", err)
		}
		if keep {
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(false)
	add(false)
	add(true)
}

// TestAddAsksTheRulesAgainAfterOtherWrites: what Outcome allowed may be deleted before it is added.
func TestAddAsksTheRulesAgainAfterOtherWrites(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	e := storetest.Event(1, storetest.Start, 1, "x")
	del := storetest.Event(1, storetest.Start+1, 5, "", []string{"e", e.ID.String()})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if out, err := b.Outcome(e); out != policy.Accept || err != nil {
		t.Fatal(out, err)
	}
	if out, err := b.Add(del, store.Live); out != policy.Accept || err != nil {
		t.Fatal(out, err)
	}
	if out, err := b.Add(e, store.Live); out != policy.Deleted || err != nil {
		t.Error(out, err)
	}
	if ok, err := b.Has(e.ID); ok || err != nil {
		t.Error("it was added", err)
	}
}

// TestUnknownIsCertain: what is stored or remembered, in this process or before, is never told to be unknown.
func TestUnknownIsCertain(t *testing.T) {
	o := store.Options{Dir: "data", FS: vfs.NewMem()}
	stored, remembered := storetest.Event(1, storetest.Start, 1, "stored"), storetest.Event(1, storetest.Start, 1, "remembered")
	neither := storetest.Event(1, storetest.Start, 1, "neither")
	for i := range 2 {
		s := open(t, o)
		if i == 0 {
			b, err := s.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Add(stored, store.Live); err != nil {
				t.Fatal(err)
			}
			if err := b.Remember(remembered, policy.Refuse); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if s.Unknown(stored.ID) || s.Unknown(remembered.ID) {
			t.Error("what is known is told to be unknown")
		}
		if !s.Unknown(neither.ID) {
			t.Error("what is not known has to be read")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDecisionsHoldOverARestart: what keeps an event away is found by the next process too.
func TestDecisionsHoldOverARestart(t *testing.T) {
	o := store.Options{Dir: "data", FS: vfs.NewMem()}
	tag := func(name, value string) nostr.Tag { return nostr.Tag{name, value} }
	here := storetest.Event(1, storetest.Start, 1, "here")
	deleted := storetest.Event(2, storetest.Start, 1, "deleted")
	byAddress := storetest.Event(2, storetest.Start, 30018, "", tag("d", "x"))
	newer := storetest.Event(3, storetest.Start+1, 30018, "", tag("d", "x"))
	older := storetest.Event(3, storetest.Start, 30018, "", tag("d", "x"))
	vanished := storetest.Event(4, storetest.Start, 1, "vanished")
	orphan := storetest.Event(5, storetest.Start, 1111, "", tag("e", here.ID.String()))
	s := open(t, o)
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*nostr.Event{
		here, newer, storetest.Event(2, storetest.Start+1, 5, "", tag("e", deleted.ID.String()), tag("a", byAddress.Address())),
		storetest.Event(4, storetest.Start+1, 62, "", tag("relay", "ALL_RELAYS")),
	} {
		if out, err := b.Add(e, store.Live); out != policy.Accept || err != nil {
			t.Fatal(out, err)
		}
	}
	if err := b.Remember(orphan, policy.Unrelated); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = open(t, o).Begin(); err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for _, c := range []struct {
		e    *nostr.Event
		want policy.Outcome
	}{
		{here, policy.Duplicate}, {deleted, policy.Deleted}, {byAddress, policy.Deleted}, {older, policy.Superseded}, {vanished, policy.Vanished},
		{orphan, policy.Accept},
	} {
		if out, err := b.Outcome(c.e); out != c.want || err != nil {
			t.Errorf("%v, not %v; %v", out, c.want, err)
		}
	}
	if known, err := b.Known(orphan.ID); known.State != store.Remembered || err != nil {
		t.Error("what was refused is not known", err)
	}
	if n, _, err := b.ForgetOrphans(here, 10); n != 1 || err != nil {
		t.Errorf("%d orphans are forgotten; %v", n, err)
	}
}

// TestABatchIsFullBelowAMegabyte: whoever asks before each event makes batches whose memory is used again.
func TestABatchIsFullBelowAMegabyte(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	text, n := strings.Repeat("x", 10_000), 0
	for ; !b.Full() && n < 1000; n++ {
		if _, err := b.Add(storetest.Event(1, storetest.Start+int64(n), 1, text), store.Live); err != nil {
			t.Fatal(err)
		}
	}
	if n < 80 || n > 100 {
		t.Errorf("%d events of 10 kB", n)
	}
}
