package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// TestOpenWithALogThatBeginsLater: a store goes on where the log has all that comes after it. Where it lacks some of that, it does not open, as
// it would begin another history.
func TestOpenWithALogThatBeginsLater(t *testing.T) {
	bucket := new(objecttest.Memory)
	log := bucketlog.New(bucket)
	whole, behind, empty := vfs.NewMem(), vfs.NewMem(), vfs.NewMem()
	if err := openLogged(t, empty, log).Close(); err != nil {
		t.Fatal(err)
	}
	s := openLogged(t, whole, log)
	lead(t, s)
	fill(s, 0, 3) // up to position 4
	if err := openLogged(t, behind, log).Close(); err != nil {
		t.Fatal(err)
	}
	fill(s, 3, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for gone := 1; gone <= 6; gone++ {
		if err := bucket.Delete(t.Context(), fmt.Sprintf("log/%020d", gone)); err != nil {
			t.Fatal(err)
		}
		for at, fs := range map[int]vfs.FS{0: empty, 4: behind, 7: whole} {
			s, err := store.Open(store.Options{Dir: "data", FS: clone(t, fs), Log: log})
			if at >= gone && err != nil || at < gone && !errors.Is(err, commitlog.ErrGap) {
				t.Errorf("without the first %d, from position %d on: %v", gone, at, err)
			}
			if err != nil {
				continue
			}
			if n := len(readAll(t, s)); n != 6 {
				t.Errorf("without the first %d, from position %d on: %d events", gone, at, n)
			}
			s.Close()
		}
	}
}

// TestWhoComesLateToATrimmedLog: where the log has lost what a store has not read, the store cannot begin a term, although nothing is at the position
// that it wants, and shows nothing of its try. One that led is refused by the entry that ended its term, which stays.
func TestWhoComesLateToATrimmedLog(t *testing.T) {
	bucket := new(objecttest.Memory)
	log := bucketlog.New(bucket)
	old, late := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
	lead(t, old) // 1
	fill(old, 0, 3)
	catchUp(t, late, log) // up to 4
	fill(old, 3, 1)       // 5
	next := openLogged(t, vfs.NewMem(), log)
	lead(t, next) // 6
	fill(next, 10, 5)
	if n, err := log.Trim(t.Context(), 9, commitlog.Position(next.LogPlace().Began)); err != nil || n != 6 {
		t.Fatal(n, err)
	}
	before := contents(t, late)
	if _, err := late.Lead([]byte("late")); !errors.Is(err, store.ErrDeposed) || late.Failure() != nil {
		t.Errorf("it leads: %v", err)
	}
	if _, err := late.Begin(); !errors.Is(err, store.ErrFollows) || contents(t, late) != before || late.LogPlace().Position != 4 {
		t.Errorf("it has something of its try: %v, %v", err, late.LogPlace())
	}
	if err := added(t, old, storetest.Event(1, 50, 1, "late")); !errors.Is(err, store.ErrDeposed) {
		t.Errorf("it still writes: %v", err)
	}
	if err := added(t, next, storetest.Event(1, 60, 1, "next")); err != nil {
		t.Error(err)
	}
}

// TestWhereTermsBegin: each entry says where the term before began, so that the beginnings are found from the last one.
func TestWhereTermsBegin(t *testing.T) {
	log := bucketlog.New(new(objecttest.Memory))
	fs := vfs.NewMem()
	for i := range 3 {
		s := openLogged(t, fs, log)
		lead(t, s)
		fill(s, 2*i, 2)
		if at := s.LogPlace(); at.Began != uint64(3*i+1) || at.Position != uint64(3*i+3) {
			t.Errorf("term %d: %+v", i, at)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := log.Begins(t.Context(), 7); err != nil || fmt.Sprint(all) != "[7 4 1]" {
		t.Error(all, err)
	}
	other := openLogged(t, vfs.NewMem(), log)
	if at := other.LogPlace(); at.Began != 7 || at.Term != 3 {
		t.Errorf("who applies has %+v", at)
	}
	if got, err := log.Extent(t.Context(), 4); err != nil || got.First != 5 || got.Last != 9 || got.Entries != 5 || got.Bytes < 5*50 {
		t.Error(got, err)
	}
}
