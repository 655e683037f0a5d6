package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// logged is a disk in memory with a log beside it.
type logged struct {
	fs  vfs.FS
	log *logtest.Memory
}

func (l logged) Fresh(testing.TB) storetest.Disk { return logged{vfs.NewMem(), new(logtest.Memory)} }

func (l logged) Open(t testing.TB, o store.Options) storetest.Store {
	o.Dir, o.FS, o.Log = "data", l.fs, l.log
	s := checked(t, o)
	lead(t, s.(checkedStore).s)
	return s
}

func lead(t testing.TB, s *store.Store) {
	t.Helper()
	if _, err := s.Lead(fmt.Append(nil, "leader ", leaders.Add(1))); err != nil {
		t.Fatal(err)
	}
}

// leaders counts who has led.
var leaders atomic.Int64

// openLogged opens a store with a log; it follows.
func openLogged(t testing.TB, fs vfs.FS, l commitlog.Log) *store.Store {
	t.Helper()
	return open(t, store.Options{Dir: "data", FS: fs, Log: l})
}

// catchUp has a store take what the log has beyond it.
func catchUp(t testing.TB, s *store.Store, l commitlog.Log) {
	t.Helper()
	for {
		x, err := l.Read(t.Context(), commitlog.Position(s.LogPlace().Position+1))
		if errors.Is(err, commitlog.ErrNone) {
			return
		}
		if err == nil {
			err = s.Apply(x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestContractWithALog: a store that writes a log does what every store does.
func TestContractWithALog(t *testing.T) {
	if storetest.UnderRace {
		t.Skip("the contract without a log and TestFollowers have the same goroutines")
	}
	storetest.Run(t, logged{})
}

// TestAFollowerWritesNothing until it leads, not even when it is opened and closed.
func TestAFollowerWritesNothing(t *testing.T) {
	log := new(logtest.Memory)
	mem := vfs.NewMem()
	for range 2 {
		s := openLogged(t, mem, log)
		if _, err := s.Begin(); !errors.Is(err, store.ErrFollows) {
			t.Errorf("begin: %v", err)
		}
		if err := s.KeepNotes(map[string][]byte{"a": nil}, nil); !errors.Is(err, store.ErrFollows) {
			t.Errorf("notes: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if log.Len() != 0 || store.KeysIn(mem) != 0 {
			t.Errorf("%d entries and %d keys", log.Len(), store.KeysIn(mem))
		}
	}
	s := openLogged(t, mem, log)
	for want := range uint64(3) {
		if term, err := s.Lead(fmt.Append(nil, "node ", want)); err != nil || term != want+1 || s.LogPlace().Term != term {
			t.Errorf("term %d: %d, %v", want, term, err)
		}
		if _, err := s.Lead(nil); !errors.Is(err, store.ErrNotFollowing) {
			t.Errorf("it leads already: %v", err)
		}
		v := s.View()
		if by, err := v.Leader(); string(by) != fmt.Sprint("node ", want) || err != nil {
			t.Errorf("%q leads, %v", by, err)
		}
		v.Close()
		if n := len(fill(s, int(want), 1)); n != 1 {
			t.Error("a store that leads stores nothing")
		}
		at := log.Len()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s = openLogged(t, mem, log)
		if log.Len() != at || s.LogPlace().Position != uint64(at) {
			t.Errorf("the log was at %d, is at %d, and the store at %d", at, log.Len(), s.LogPlace().Position)
		}
	}
}

// TestOpenWithALogOfAnotherHistory: a store does not go on with a log that is not its own, nor without one, and loses nothing by the attempt.
func TestOpenWithALogOfAnotherHistory(t *testing.T) {
	log := new(logtest.Memory)
	mem := vfs.NewMem()
	s := openLogged(t, mem, log)
	lead(t, s)
	fill(s, 0, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := new(logtest.Memory)
	o := openLogged(t, vfs.NewMem(), other)
	lead(t, o)
	fill(o, 9, 5)
	plain := vfs.NewMem()
	p := open(t, store.Options{Dir: "data", FS: plain})
	fill(p, 0, 3)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		fs   vfs.FS
		log  commitlog.Log
		want error
	}{
		{"a log that was set back", mem, log.UpTo(3), store.ErrHistory},
		{"an empty log", mem, new(logtest.Memory), store.ErrHistory},
		{"the log of another service", mem, other, store.ErrHistory},
		{"the log of another service, of the same length", mem, other.UpTo(log.Len()), store.ErrHistory},
		{"no log", mem, nil, store.ErrLogged},
		{"a store without a log", plain, log, store.ErrHistory},
		{"a store without a log, and an empty one", plain, new(logtest.Memory), store.ErrHistory},
		{"a log that does not answer", mem, &logtest.Memory{ReadFails: func(commitlog.Position) bool { return true }}, nil},
	} {
		s, err := store.Open(store.Options{Dir: "data", FS: c.fs, Log: c.log})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			s.Close()
		}
	}
	if n := len(readAll(t, openLogged(t, mem, log))); n != 3 {
		t.Errorf("%d events are left", n)
	}
	if n := len(readAll(t, open(t, store.Options{Dir: "data", FS: plain}))); n != 3 {
		t.Errorf("%d events are left without a log", n)
	}
}

// TestAStoreThatLeavesItsLog opens without it from then on, and knows no more who led.
func TestAStoreThatLeavesItsLog(t *testing.T) {
	log, mem := new(logtest.Memory), vfs.NewMem()
	s := openLogged(t, mem, log)
	lead(t, s)
	fill(s, 0, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := store.Options{Dir: "data", FS: mem}
	if s, err := store.Open(o); !errors.Is(err, store.ErrLogged) {
		t.Errorf("it opens without its log: %v", err)
		if err == nil {
			s.Close()
		}
	}
	if err := store.StandAlone(o); err != nil {
		t.Fatal(err)
	}
	alone := open(t, o)
	v := alone.View()
	defer v.Close()
	if by, err := v.Leader(); err != nil || by != nil || alone.LogPlace() != (store.Place{}) || len(readAll(t, alone)) != 3 {
		t.Errorf("%q leads, %v; it is at %v", by, err, alone.LogPlace())
	}
}

// TestAStartAsksAgain where the log does not answer at once.
func TestAStartAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logtest.Memory)
		s := openLogged(t, vfs.NewMem(), log)
		lead(t, s)
		fill(s, 0, 3)
		var mu sync.Mutex
		asked := map[commitlog.Position]int{}
		again := log.UpTo(log.Len())
		again.ReadFails = func(at commitlog.Position) bool {
			mu.Lock()
			defer mu.Unlock()
			asked[at]++
			return asked[at] <= 5
		}
		if n := len(readAll(t, openLogged(t, vfs.NewMem(), again))); n != 3 {
			t.Errorf("%d events", n)
		}
	})
}
