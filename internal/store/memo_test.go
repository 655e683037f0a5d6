package store_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"graspd/internal/policy"
	"graspd/internal/store"
	"graspd/internal/store/storetest"
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
			if out, err := b.Judge(old); out != policy.Accept || err != nil {
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

// TestAddJudgesAgainAfterOtherWrites: what Judge allowed may be deleted before it is added.
func TestAddJudgesAgainAfterOtherWrites(t *testing.T) {
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem()})
	e := storetest.Event(1, storetest.Start, 1, "x")
	del := storetest.Event(1, storetest.Start+1, 5, "", []string{"e", e.ID.String()})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if out, err := b.Judge(e); out != policy.Accept || err != nil {
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
