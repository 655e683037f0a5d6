package store_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// asideOf are the ids that are kept under a case.
func asideOf(t *testing.T, s *store.Store, of uint64) (ids []nostr.ID) {
	t.Helper()
	v := s.View()
	defer v.Close()
	list, err := v.Aside(of, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		ids = append(ids, x.Event.ID)
		if x.Source != store.Catchup {
			t.Errorf("source %v", x.Source)
		}
	}
	r, err := storecheck.Check(t.Context(), v)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %v, %v", r.Problems, err)
	}
	return ids
}

// TestPutAside: what is put aside is not stored, is known as refused, and is there whole after a restart, in a copy, and after a
// repair, under its case alone; what is dropped is not.
func TestPutAside(t *testing.T) {
	fs := vfs.NewMem()
	o := store.Options{Dir: "data", FS: fs}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := event(1, 10, 1621, nostr.Tag{"a", "x"}), event(1, 11, 30617, nostr.Tag{"d", "d"}), event(1, 12, 1621)
	change := func(do func(*store.Batch) error) {
		t.Helper()
		x, err := s.Begin()
		if err == nil {
			err = do(x)
		}
		if err == nil {
			_, err = x.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(func(x *store.Batch) error {
		for _, e := range []*nostr.Event{a, b, c} {
			if out, err := x.Add(e, store.Catchup); err != nil || out != policy.Accept {
				t.Fatalf("%v, %v", out, err)
			}
		}
		return nil
	})
	change(func(x *store.Batch) error {
		for e, of := range map[*nostr.Event]uint64{a: 7, b: 7, c: 8} {
			if got, err := x.PutAside(e.ID, of); err != nil || got == nil || got.ID != e.ID {
				t.Fatalf("%v, %v", got, err)
			}
		}
		if got, err := x.PutAside(a.ID, 7); got != nil || err != nil {
			t.Errorf("twice: %v, %v", got, err)
		}
		if lost := x.LostRepositories(); len(lost) != 1 {
			t.Errorf("lost: %q", lost)
		}
		return nil
	})
	look := func(when string) {
		t.Helper()
		if ids := asideOf(t, s, 7); len(ids) != 2 || ids[0] != a.ID || ids[1] != b.ID {
			t.Errorf("%s: %v", when, ids)
		}
		if ids := asideOf(t, s, 8); len(ids) != 1 {
			t.Errorf("%s, of the other case: %v", when, ids)
		}
		v := s.View()
		defer v.Close()
		k, err := v.Known(a.ID)
		if err != nil || k.State != store.Remembered || k.Why != policy.Refuse {
			t.Errorf("%s it is known as %+v, %v", when, k, err)
		}
	}
	reopen := func(dir string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Dir = dir
		if s, err = store.Open(o); err != nil {
			t.Fatal(err)
		}
	}
	look("at once")
	reopen("data")
	look("after a restart")
	if err := s.Copy("copy"); err != nil {
		t.Fatal(err)
	}
	reopen("copy")
	look("in a copy")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := storecheck.Repair(context.Background(), o, storecheck.CheckOptions{})
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%v, %v", r.Problems, err)
	}
	if s, err = store.Open(o); err != nil {
		t.Fatal(err)
	}
	look("after a repair")
	v := s.View()
	list, err := v.Aside(7, 0, 1)
	v.Close()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	change(func(x *store.Batch) error { return x.DropAside(7, list[0].Seq) })
	if ids := asideOf(t, s, 7); len(ids) != 1 || ids[0] != b.ID {
		t.Errorf("dropped: %v", ids)
	}
	change(func(x *store.Batch) error {
		if out, err := x.Add(b, store.Direct); err != nil || out != policy.Accept {
			t.Errorf("stored again: %v, %v", out, err)
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
