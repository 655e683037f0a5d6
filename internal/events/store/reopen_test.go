package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

func isSync(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

func isWrite(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt
}

func opens(op errorfs.Op) bool {
	return op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite || op.Kind == errorfs.OpOpenDir || op.Kind == errorfs.OpList
}

// tiring is a disk on which operations fail while the breaker is on, also on files that the engine uses again, which errorfs leaves out.
type tiring struct {
	vfs.FS
	hook errorfs.InjectorFunc
}

func tiringDisk(mem vfs.FS, hook errorfs.InjectorFunc) vfs.FS {
	return tiring{errorfs.Wrap(mem, hook), hook}
}

// ReuseForWrite implements vfs.FS.
func (f tiring) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(old, name, c)
	if err != nil {
		return nil, err
	}
	return errorfs.WrapFile(file, errorfs.InjectorFunc(func(op errorfs.Op) error { op.Path = name; return f.hook(op) })), nil
}

// journalled is a disk that does not lose the name of a list of tables and keep that of a file which was made later, as the simulated one may.
type journalled struct{ vfs.FS }

// Create implements vfs.FS.
func (f journalled) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err != nil || !isManifest(errorfs.Op{Path: name}) {
		return file, err
	}
	dir, err := f.OpenDir(f.PathDir(name))
	if err != nil {
		return nil, err
	}
	return file, errors.Join(dir.Sync(), dir.Close())
}

// press commits one event after the other, whatever becomes of them, until the store has failed, and returns those that were acknowledged.
func press(s *store.Store, from, n int) (acked []string) {
	for i := from; i < from+n && s.Failure() == nil; i++ {
		acked = append(acked, fill(s, i, 1)...)
	}
	return acked
}

// wantAll fails where the store does not have exactly what was acknowledged.
func wantAll(t *testing.T, what string, s *store.Store, acked []string) {
	t.Helper()
	have := readAll(t, s)
	for _, content := range acked {
		if !have[content] {
			t.Errorf("%s: %s was acknowledged and is not there", what, content)
		}
	}
	if len(have) != len(acked) {
		t.Errorf("%s: %d events are there, %d were acknowledged", what, len(have), len(acked))
	}
}

// TestReopen: after a failure that passes the store is opened anew, has exactly what was acknowledged, and goes on; Views that were there before
// read what they had. While it does not pass, readers go on.
func TestReopen(t *testing.T) {
	for _, c := range []struct {
		name  string
		which func(errorfs.Op) bool
		err   error
	}{
		{"log write", func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, syscall.ENOSPC},
		{"log sync", func(op errorfs.Op) bool { return isWAL(op) && isSync(op) }, syscall.EDQUOT},
		{"log create", func(op errorfs.Op) bool {
			return isWAL(op) && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite)
		}, syscall.EMFILE},
		{"table create", func(op errorfs.Op) bool { return isTable(op) && op.Kind == errorfs.OpCreate }, syscall.ENFILE},
		{"table write", func(op errorfs.Op) bool { return isTable(op) && isWrite(op) }, syscall.ENOSPC},
		{"table sync", func(op errorfs.Op) bool { return isTable(op) && isSync(op) }, syscall.ENOSPC},
		{"table open", func(op errorfs.Op) bool { return isTable(op) && op.Kind == errorfs.OpOpen }, syscall.EMFILE},
		{"manifest write", func(op errorfs.Op) bool { return isManifest(op) && isWrite(op) }, syscall.ENOSPC},
		{"manifest sync", func(op errorfs.Op) bool { return isManifest(op) && isSync(op) }, syscall.ENOSPC},
		{"every write", func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }, syscall.ENOSPC},
		{"every open", opens, syscall.EMFILE},
		{"memory", func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, syscall.ENOMEM},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &breaker{which: c.which, err: c.err}
			mem := vfs.NewCrashableMem()
			var log bytes.Buffer
			s, err := store.Open(store.Options{Dir: "data", FS: tiringDisk(mem, b.hook), TableBytes: 64 << 10,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			acked := fill(s, 0, 100)
			before, head := s.View(), s.Head()
			had := slices.Clone(acked)
			for round := range 3 {
				from := 1000 * (round + 1)
				b.on.Store(true)
				acked = append(acked, press(s, from, 900)...)
				if err := s.Failure(); !errors.Is(err, store.ErrPaused) || !errors.Is(err, store.ErrFailed) || !errors.Is(err, c.err) {
					t.Errorf("failure: %v", err)
				}
				for range 2 {
					_ = s.Reopen() // some of these need nothing that fails
				}
				if !b.which(errorfs.Op{Kind: errorfs.OpOpen, Path: "x.sst"}) {
					wantAll(t, "while it lasts", s, acked)
				}
				b.on.Store(false)
				if err := s.Reopen(); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if err := s.Failure(); err != nil {
					t.Errorf("after it: %v", err)
				}
				wantAll(t, "after it", s, acked)
				wantAll(t, "a power cut at once", open(t, store.Options{Dir: "data", FS: mem.CrashClone(vfs.CrashCloneCfg{})}), acked)
				more := fill(s, from+900, 90)
				if acked = append(acked, more...); len(more) != 90 {
					t.Fatalf("round %d: %d commits after it", round, len(more))
				}
			}
			n := 0
			for row, err := range before.Query(t.Context(), everything) {
				if err != nil {
					t.Fatal(err)
				}
				if e, err := row.Event(); err != nil || !slices.Contains(had, e.Content) {
					t.Fatal(e, err)
				}
				n++
			}
			if n != len(had) || before.Head() != head {
				t.Errorf("a View from before has %d events, and had %d", n, len(had))
			}
			before.Close()
			check(t, s)
			if n := strings.Count(log.String(), "storage failed for now"); n != 3 {
				t.Errorf("three failures were logged %d times:\n%s", n, log.String())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, store.Options{Dir: "data", FS: mem})
			check(t, s)
			wantAll(t, "after a restart", s, acked)
		})
	}
}

// TestReopenAtAnyMoment: a disk that is full, and short of files, at random moments, also while it is opened anew, and power cuts at any of them:
// what was acknowledged is there, and nothing else.
func TestReopenAtAnyMoment(t *testing.T) {
	for seed := range seeds(lives.Of(8, 24)) {
		r := rand.New(rand.NewPCG(seed, 29))
		var mu sync.Mutex
		var calm atomic.Bool
		calm.Store(true)
		rate := 1 + r.IntN(400)
		c := &cutter{r: rand.New(rand.NewPCG(seed, 30)), fs: vfs.NewCrashableMem(), every: 200, most: 6}
		faulty := tiringDisk(journalled{c.disk()}, func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if calm.Load() || op.Kind.ReadOrWrite() == errorfs.OpIsRead && (!opens(op) || isTable(op)) || r.IntN(rate) > 0 {
				return nil
			}
			return []error{syscall.ENOSPC, syscall.EMFILE}[r.IntN(2)]
		})
		s, err := store.Open(store.Options{Dir: "data", FS: faulty, TableBytes: 32 << 10})
		if err != nil {
			t.Fatal(err)
		}
		var acked []string
		for round := range 12 {
			calm.Store(round%3 == 2)
			more := fill(s, round*1000, 40)
			for range more {
				c.acknowledge()
			}
			acked = append(acked, more...)
			if err := s.Failure(); err != nil && !errors.Is(err, store.ErrPaused) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := s.Reopen(); err != nil && (calm.Load() || !errors.Is(s.Failure(), store.ErrPaused)) {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if calm.Load() {
				wantAll(t, "in between", s, acked)
			}
		}
		check(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantAll(t, "after a restart", open(t, store.Options{Dir: "data", FS: c.fs}), acked)
		for _, cut := range c.cuts {
			s := open(t, store.Options{Dir: "data", FS: cut.fs})
			have := readAll(t, s)
			for _, content := range acked[:cut.acked] {
				if !have[content] {
					t.Fatalf("seed %d: %s was acknowledged before a power cut", seed, content)
				}
			}
			check(t, s)
			s.Close()
		}
	}
}

// A commit that is in the log as a whole, though the disk said that it failed, is not shown when the store is opened anew; what it replaced is back.
func TestReopenTakesBackWhatFailed(t *testing.T) {
	b := &breaker{which: func(op errorfs.Op) bool { return isWAL(op) && isSync(op) }, err: syscall.ENOSPC}
	mem := vfs.NewCrashableMem()
	s := open(t, store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook))})
	add := func(e ...*nostr.Event) error {
		w, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Discard()
		for _, e := range e {
			if out, err := w.Add(e, store.Direct); err != nil || out != policy.Accept {
				t.Fatal(out, err)
			}
		}
		_, err = w.Commit()
		return err
	}
	older := storetest.Announcement(1, storetest.Start, "x", "older")
	if err := add(older); err != nil {
		t.Fatal(err)
	}
	head, _, err := s.Since(0, 100)
	if err != nil || len(head) != 1 {
		t.Fatal(head, err)
	}
	b.on.Store(true)
	newer := storetest.Announcement(1, storetest.Start+1, "x", "newer")
	if err := add(newer, storetest.Event(2, storetest.Start, 1, "beside")); !errors.Is(err, store.ErrPaused) {
		t.Fatal(err)
	}
	after := open(t, store.Options{Dir: "data", FS: mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})})
	if have := readAll(t, after); !have["newer"] {
		t.Fatal("the log does not have the commit, so nothing is tried here")
	}
	b.on.Store(false)
	if err := s.Reopen(); err != nil {
		t.Fatal(err)
	}
	if have := readAll(t, s); len(have) != 1 || !have["older"] {
		t.Errorf("%v is there", have)
	}
	check(t, s)
	if err := add(newer); err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.Since(head[0].Seq, 100)
	if err != nil || len(entries) != 2 || entries[1].Event != newer && entries[0].Event != newer {
		t.Errorf("%v, %v", entries, err)
	}
	check(t, s)
}

// TestReopenOfWhatIsBroken: what does not pass stays, also where it comes after something that passes, or shows only when the store is opened anew.
func TestReopenOfWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(t *testing.T, mem *vfs.MemFS, b *breaker)
	}{
		{"an error of the disk", func(_ *testing.T, _ *vfs.MemFS, b *breaker) {
			b.which, b.err = func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }, syscall.EIO
		}},
		{"damage", func(t *testing.T, mem *vfs.MemFS, b *breaker) {
			b.on.Store(false)
			names, err := mem.List("data")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if strings.HasSuffix(name, ".log") {
					spoil(t, mem, mem.PathJoin("data", name))
				}
			}
		}},
		{"another state", func(t *testing.T, mem *vfs.MemFS, b *breaker) {
			b.on.Store(false)
			if err := mem.RemoveAll("data"); err != nil {
				t.Fatal(err)
			}
			if err := mem.MkdirAll("data", 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &breaker{which: func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, err: syscall.ENOSPC}
			mem := vfs.NewMem()
			var log bytes.Buffer
			s, err := store.Open(store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook)), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			acked := fill(s, 0, 50)
			b.on.Store(true)
			fill(s, 50, 50)
			if !errors.Is(s.Failure(), store.ErrPaused) {
				t.Fatal(s.Failure())
			}
			c.then(t, mem, b)
			if err := s.Reopen(); !errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrPaused) {
				t.Errorf("reopen: %v", err)
			}
			b.on.Store(false)
			for range 2 {
				if err := s.Reopen(); !errors.Is(err, store.ErrFailed) || errors.Is(s.Failure(), store.ErrPaused) {
					t.Errorf("reopen: %v, failure: %v", err, s.Failure())
				}
			}
			if _, err := s.Begin(); !errors.Is(err, store.ErrFailed) {
				t.Error(err)
			}
			wantAll(t, "for readers", s, acked)
			if !strings.Contains(log.String(), "nothing is written until the next start") {
				t.Error(log.String())
			}
			s.Close()
		})
	}
}

// TestReopenWaits: for room, for the batch that is open, and for a failure.
func TestReopenWaits(t *testing.T) {
	b := &breaker{which: func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, err: syscall.ENOSPC}
	var free atomic.Uint64
	free.Store(10 << 20)
	s := open(t, store.Options{Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(b.hook)), Floor: 1 << 20,
		FreeSpace: func() (uint64, error) { return free.Load(), nil }})
	acked := fill(s, 0, 10)
	if err := s.Reopen(); err != nil {
		t.Errorf("nothing has failed: %v", err)
	}
	open, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	b.on.Store(true)
	if err := s.KeepNotes(map[string][]byte{"a": []byte("b")}, nil); !errors.Is(err, store.ErrPaused) {
		t.Fatal(err)
	}
	b.on.Store(false)
	if err := s.Reopen(); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while a batch is open: %v", err)
	}
	open.Discard()
	free.Store(1 << 10)
	if err := s.Reopen(); !errors.Is(err, store.ErrFull) || !errors.Is(s.Failure(), store.ErrPaused) {
		t.Errorf("without room: %v, failure: %v", err, s.Failure())
	}
	free.Store(10 << 20)
	if err := s.Reopen(); err != nil {
		t.Error(err)
	}
	if err := s.KeepNotes(map[string][]byte{"a": []byte("c")}, nil); err != nil {
		t.Error(err)
	}
	wantAll(t, "after it", s, append(acked, fill(s, 20, 2)...))
}

// TestReopenLeavesNothing: once nobody reads what was before, its files and its memory go.
func TestReopenLeavesNothing(t *testing.T) {
	b := &breaker{which: func(op errorfs.Op) bool { return isTable(op) && isWrite(op) }, err: syscall.ENOSPC}
	mem := vfs.NewMem()
	s := open(t, store.Options{Dir: "data", FS: tiringDisk(mem, b.hook), TableBytes: 32 << 10})
	acked := fill(s, 0, 300)
	view := s.View()
	b.on.Store(true)
	acked = append(acked, press(s, 1000, 900)...)
	b.on.Store(false)
	if err := s.Reopen(); err != nil {
		t.Fatal(err)
	}
	acked = append(acked, fill(s, 2000, 300)...)
	store.Compact(s)
	tables := func() (n int) {
		names, err := mem.List("data")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".sst") {
				n++
			}
		}
		return n
	}
	kept := tables()
	open := store.Opened(view)
	if !open() {
		t.Error("the engine that a View reads is closed")
	}
	view.Close()
	if open() {
		t.Error("the engine that nobody reads is open")
	}
	if n := tables(); n > kept/2 {
		t.Errorf("%d tables are left of %d", n, kept)
	}
	wantAll(t, "after it", s, acked)
	check(t, s)
}
