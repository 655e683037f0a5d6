package store_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// added adds an event in a batch of its own, and gives what the commit says.
func added(t testing.TB, s *store.Store, e *nostr.Event) error {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		return err
	}
	defer b.Discard()
	if out, err := b.Add(e, store.Direct); err != nil || out != policy.Accept {
		t.Fatal(out, err)
	}
	_, err = b.Commit()
	return err
}

// TestDeposed: a store that has led hears of another one by its next commit, which is refused and leaves nothing, and writes no more.
func TestDeposed(t *testing.T) {
	for _, notes := range []bool{false, true} {
		log := new(logtest.Memory)
		a, b := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
		lead(t, a)
		fill(a, 0, 3)
		catchUp(t, b, log)
		open, err := a.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open.Wait(storetest.Event(1, 5, 1, "unheard"), store.Wait{From: "wss://a", Until: 1 << 40}); err != nil {
			t.Fatal(err)
		}
		lead(t, b)
		if isClosed(a.Deposed()) || isClosed(b.Deposed()) {
			t.Errorf("notes %v: it is told too soon", notes)
		}
		before, at := contents(t, a), log.Len()
		if notes {
			err = a.KeepNotes(map[string][]byte{"a": nil}, nil)
		} else {
			_, err = open.Commit()
		}
		if !errors.Is(err, store.ErrDeposed) || errors.Is(err, store.ErrFailed) || a.Failure() != nil {
			t.Errorf("notes %v: %v, failure %v", notes, err, a.Failure())
		}
		if !isClosed(a.Deposed()) || isClosed(b.Deposed()) {
			t.Errorf("notes %v: it is not told", notes)
		}
		if _, err := open.Commit(); err == nil {
			t.Errorf("notes %v: the batch that was open is committed", notes)
		}
		if _, err := a.Begin(); !errors.Is(err, store.ErrDeposed) {
			t.Errorf("notes %v, begin: %v", notes, err)
		}
		if err := a.KeepNotes(map[string][]byte{"a": nil}, nil); !errors.Is(err, store.ErrDeposed) {
			t.Errorf("notes %v, notes after it: %v", notes, err)
		}
		if _, err := a.Lead(nil); !errors.Is(err, store.ErrDeposed) {
			t.Errorf("notes %v, lead: %v", notes, err)
		}
		if contents(t, a) != before || log.Len() != at {
			t.Errorf("notes %v: something was written", notes)
		}
		fill(b, 10, 2)
		catchUp(t, a, log)
		if x, y := contents(t, a), contents(t, b); x != y || a.Stats().WaitingByKind != b.Stats().WaitingByKind {
			t.Errorf("notes %v: it does not follow:\n%s\n%s", notes, x, y)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestALostRace: where another store has begun a term, Lead fails and the store follows on; it may try again.
func TestALostRace(t *testing.T) {
	log := new(logtest.Memory)
	a, b := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
	lead(t, a)
	if _, err := b.Lead([]byte("b")); !errors.Is(err, store.ErrDeposed) {
		t.Errorf("lead: %v", err)
	}
	if _, err := b.Begin(); !errors.Is(err, store.ErrFollows) || isClosed(b.Deposed()) {
		t.Errorf("begin: %v", err)
	}
	catchUp(t, b, log)
	if term, err := b.Lead([]byte("b")); err != nil || term != 2 {
		t.Errorf("lead again: %d, %v", term, err)
	}
	if n := len(fill(b, 0, 2)); n != 2 {
		t.Errorf("%d commits", n)
	}
}

// TestATermForgetsOldRemovals, and keeps those that a reader on another node may want.
func TestATermForgetsOldRemovals(t *testing.T) {
	log := new(logtest.Memory)
	mem := vfs.NewMem()
	s := openLogged(t, mem, log)
	lead(t, s)
	events := []*nostr.Event{storetest.Event(1, 1, 1, "a"), storetest.Event(1, 2, 1, "b")}
	remove := func(e *nostr.Event) {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		if err := b.Remove(e.ID, store.ReasonDeleted); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range events {
		if err := added(t, s, e); err != nil {
			t.Fatal(err)
		}
	}
	remove(events[0])
	f, err := s.Refill(store.RemovalsKept + 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	remove(events[1])
	if err := added(t, s, storetest.Event(1, 3, 1, "c")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1, 1} {
		if n := store.KeysOf(s, "x"); n != want {
			t.Errorf("%d removals, want %d", n, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openLogged(t, mem, log)
		lead(t, s)
	}
	other := openLogged(t, vfs.NewMem(), log)
	if x, y := contents(t, s), contents(t, other); x != y || store.KeysOf(other, "x") != 1 {
		t.Errorf("a follower has something else:\n%s\n%s", x, y)
	}
}

// TestPlaceOfAStoreThatHasNothing: a kill may take all that a store with a log had. There is no store then, and none that belongs to no log.
func TestPlaceOfAStoreThatHasNothing(t *testing.T) {
	mem, log := vfs.NewMem(), new(logtest.Memory)
	o := store.Options{Dir: "data", FS: mem}
	place := func(want uint64, fails error) {
		t.Helper()
		if at, err := store.PlaceIn(o); at.Position != want || !errors.Is(err, fails) {
			t.Errorf("position %d, %v; want %d, %v", at.Position, err, want, fails)
		}
	}
	s := openLogged(t, mem, log)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	place(0, store.ErrNone)
	s = openLogged(t, mem, log)
	lead(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	place(1, nil)
}

// TestFollowPlace: the channel is closed with the next commit, of this store or of another one, and no earlier.
func TestFollowPlace(t *testing.T) {
	log := new(logtest.Memory)
	one, other := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
	for _, c := range []struct {
		s  *store.Store
		do func()
	}{{one, func() { lead(t, one) }}, {other, func() { catchUp(t, other, log) }}} {
		at, moved := c.s.FollowPlace()
		select {
		case <-moved:
			t.Error("it has moved before anything came")
		default:
		}
		c.do()
		select {
		case <-moved:
		default:
			t.Error("nobody hears of a commit")
		}
		if now, _ := c.s.FollowPlace(); now.Position != at.Position+1 || now != c.s.LogPlace() {
			t.Errorf("%+v after %+v", now, at)
		}
	}
}
