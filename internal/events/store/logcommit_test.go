package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

// cutPlace is up to where a disk has the log.
func cutPlace(t testing.TB, fs vfs.FS, l commitlog.Log) commitlog.Position {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: fs, ReadOnly: true, Log: l})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return commitlog.Position(s.LogPlace().Position)
}

// TestKilledWhileUnsynced: whatever a kill or a power cut leaves of the store, with its log it has what the log has.
func TestKilledWhileUnsynced(t *testing.T) {
	for seed := range seeds(lives.Of(3, 8)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			log := new(logtest.Memory)
			c := &cutter{r: rand.New(rand.NewPCG(seed, 9)), fs: vfs.NewCrashableMem(), most: 40}
			o := store.Options{Dir: "data", FS: c.disk(), TableBytes: 64 << 10, Log: log}
			s := open(t, o)
			lead(t, s)
			states := map[commitlog.Position]string{}
			note := func() { states[log.Len()] = contents(t, s) + notesOf(t, s) }
			c.mu.Lock()
			c.every = 20
			c.at = func() int { return int(log.Len()) }
			c.mu.Unlock()
			note()
			w := storetest.NewWorld(seed)
			for i := range 40 {
				commitSome(t, s, w, storetest.Start+int64(i))
				note()
				for n := range i % 5 * 3 { // small ones, of which some are whole behind what is lost
					keepNotes(t, s, map[string][]byte{"a": fmt.Append(nil, i, n), fmt.Sprint(i): nil}, fmt.Sprint(i-4))
					note()
				}
			}
			c.mu.Lock()
			c.every = 0
			c.mu.Unlock()
			if len(c.cuts) < 10 {
				t.Fatalf("only %d power cuts", len(c.cuts))
			}
			behind := 0
			for i, cut := range c.cuts {
				at := commitlog.Position(cut.acked)
				if cutPlace(t, cut.fs, log) < at {
					behind++
				}
				s, err := store.Open(store.Options{Dir: "data", FS: cut.fs, Log: log.UpTo(at)})
				if err != nil {
					t.Errorf("cut %d at %d: %v", i, at, err)
					continue
				}
				if got := contents(t, s) + notesOf(t, s); got != states[at] {
					t.Errorf("cut %d at %d of the log: the store has something else", i, at)
				}
				check(t, s)
				catchUp(t, s, log)
				if got := contents(t, s) + notesOf(t, s); got != states[log.Len()] {
					t.Errorf("cut %d: the store follows to something else", i)
				}
				s.Close()
			}
			if behind == 0 {
				t.Error("no cut has lost anything that the log has")
			}
		})
	}
}

// TestACommitThatNobodyKnowsOf: when the log is closed before it is known whether the log has a commit, nothing is written any more, nothing is
// shown of the commit, and the next start finds it if it is there.
func TestACommitThatNobodyKnowsOf(t *testing.T) {
	for fault, there := range map[logtest.Fault]bool{logtest.LostBefore: false, logtest.LostAfter: true} {
		synctest.Test(t, func(t *testing.T) {
			var lost atomic.Bool
			log := &logtest.Memory{ReadFails: func(commitlog.Position) bool { return lost.Load() }, Fault: func(commitlog.Entry) logtest.Fault {
				if lost.Load() {
					return fault
				}
				return logtest.Well
			}}
			mem := vfs.NewMem()
			s, err := store.Open(store.Options{Dir: "data", FS: mem, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			lead(t, s)
			lost.Store(true)
			time.AfterFunc(time.Hour, log.Close)
			if err := added(t, s, storetest.Event(1, 1, 1, "x")); !errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrPaused) || !errors.Is(err, commitlog.ErrClosed) {
				t.Errorf("commit: %v", err)
			}
			if _, err := s.Begin(); !errors.Is(err, store.ErrFailed) {
				t.Errorf("begin: %v", err)
			}
			if n := len(readAll(t, s)); n != 0 {
				t.Errorf("%d events are shown", n)
			}
			s.Close()
			lost.Store(false)
			s = openLogged(t, mem, log.UpTo(log.Len()))
			if n := len(readAll(t, s)); (n == 1) != there {
				t.Errorf("fault %d: %d events after the start", fault, n)
			}
		})
	}
}

// TestALocalFailureWithALog: whatever fails here once the log has a commit, writing ends, and the next start has the commit. What has failed
// before keeps a commit out of the log.
func TestALocalFailureWithALog(t *testing.T) {
	for _, c := range []struct {
		name  string
		which func(errorfs.Op) bool
		err   error
	}{
		{"log write", func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, syscall.EIO},
		{"log write, no room", func(op errorfs.Op) bool { return isWAL(op) && isWrite(op) }, syscall.ENOSPC},
		{"table", func(op errorfs.Op) bool { return isTable(op) && isWrite(op) }, syscall.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := new(logtest.Memory)
			b := &breaker{which: c.which, err: c.err}
			mem := vfs.NewCrashableMem()
			s, err := store.Open(store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook)), TableBytes: 64 << 10, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			lead(t, s)
			fill(s, 0, 5)
			b.on.Store(true)
			fill(s, 5, 400)
			if err := s.Failure(); !errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrPaused) {
				t.Fatalf("failure: %v", err)
			}
			at := log.Len()
			if err := errors.Join(s.KeepNotes(map[string][]byte{"a": nil}, nil), s.Reopen()); !errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrDeposed) || log.Len() != at {
				t.Errorf("after the failure: %v, and %d entries more", err, log.Len()-at)
			}
			shown := len(readAll(t, s))
			disk := mem.CrashClone(vfs.CrashCloneCfg{})
			s.Close()
			s = openLogged(t, disk, log)
			check(t, s)
			if n := len(readAll(t, s)); n < shown || n != int(at)-1 {
				t.Errorf("%d events after the start, %d were shown, the log has %d", n, shown, at-1)
			}
		})
	}
}

// TestNotesAndCommits: notes wait for a commit under way, and not for a batch that is open; their positions are in order.
func TestNotesAndCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logtest.Memory)
		slow := time.Duration(0)
		log.Fault = func(commitlog.Entry) logtest.Fault { time.Sleep(slow); return logtest.Well }
		s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		lead(t, s)
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		keepNotes(t, s, map[string][]byte{"a": []byte("1")})
		if _, err := b.Add(storetest.Event(1, 1, 1, "x"), store.Live); err != nil {
			t.Fatal(err)
		}
		slow = time.Second
		begun := time.Now()
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := b.Commit(); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() { keepNotes(t, s, map[string][]byte{"a": []byte("2")}) })
		both.Wait()
		if took := time.Since(begun); took != 2*time.Second || log.Len() != 4 || s.LogPlace().Position != 4 {
			t.Errorf("both took %v, the log has %d entries, the store is at %d", took, log.Len(), s.LogPlace().Position)
		}
	})
}

// TestACommitThatIsTooLarge for the log is refused alone.
func TestACommitThatIsTooLarge(t *testing.T) {
	log := new(logtest.Memory)
	s := openLogged(t, vfs.NewMem(), log)
	lead(t, s)
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range commitlog.MaxSize/store.MaxRowValue + 1 {
		if err := b.SetRow(fmt.Sprint(i), make([]byte, store.MaxRowValue)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(); !errors.Is(err, commitlog.ErrTooLarge) || log.Len() != 1 {
		t.Errorf("%v, %d entries", err, log.Len())
	}
	if n := len(fill(s, 0, 2)); n != 2 || s.Failure() != nil {
		t.Errorf("%d commits after it, %v", n, s.Failure())
	}
}

// TestCopyWithALog: a copy has what was acknowledged, although nothing was synced.
func TestCopyWithALog(t *testing.T) {
	log := new(logtest.Memory)
	mem := vfs.NewMem()
	s := openLogged(t, mem, log)
	lead(t, s)
	for i := range 30 {
		acked := fill(s, 10*i, 10)
		dir := fmt.Sprint("copy", i)
		if err := s.Copy(dir); err != nil || len(acked) != 10 {
			t.Fatal(err, acked)
		}
		c := open(t, store.Options{Dir: dir, FS: mem, ReadOnly: true})
		if c.LogPlace() != s.LogPlace() || len(readAll(t, c)) != 10*i+10 {
			t.Errorf("the copy is at %v of %v", c.LogPlace(), s.LogPlace())
		}
		if err := mem.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
