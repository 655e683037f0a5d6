package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

func keepNotes(t testing.TB, s *store.Store, set map[string][]byte, remove ...string) {
	t.Helper()
	if err := s.KeepNotes(set, remove); err != nil {
		t.Fatal(err)
	}
}

// notesOf is all notes in order, as text.
func notesOf(t testing.TB, s *store.Store) string {
	t.Helper()
	notes, err := s.Notes()
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		text += fmt.Sprintf("%s=%s ", name, notes[name])
	}
	return text
}

func TestNotesOutliveRestartsAndBatches(t *testing.T) {
	o := store.Options{Dir: "data", FS: vfs.NewMem()}
	s := open(t, o)
	if got := notesOf(t, s); got != "" {
		t.Fatalf("a new store has notes: %s", got)
	}
	fill(s, 0, 3)
	before := contents(t, s)
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	keepNotes(t, s, map[string][]byte{"a": []byte("1"), "b": []byte("2"), "\xff": []byte("end"), "": []byte("nameless")})
	if _, err := b.Add(storetest.Event(3, 5000, 1, "never committed"), store.Live); err != nil {
		t.Fatal(err)
	}
	b.Discard()
	keepNotes(t, s, map[string][]byte{"b": []byte("3"), "c": nil}, "a", "never there")
	const want = "=nameless b=3 c= \xff=end "
	for range 2 {
		if got := notesOf(t, s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := contents(t, s); got != before {
			t.Errorf("notes changed the events:\n%s\nwas\n%s", got, before)
		}
		check(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, o)
	}
}

func TestManyNotes(t *testing.T) {
	o := store.Options{Dir: "data", FS: vfs.NewMem()}
	s := open(t, o)
	want := make(map[string][]byte)
	for i := range 5000 {
		want[fmt.Sprint("note ", i)] = fmt.Appendf(nil, "%d times %d", i, i*7919)
	}
	keepNotes(t, s, want)
	for range 2 {
		got, err := s.Notes()
		if err != nil || !maps.EqualFunc(got, want, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%d notes, not as they were written: %v", len(got), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, o)
	}
}

// TestNotesAndPowerCuts: what was acknowledged is there, what was not is there as a whole or not at all.
func TestNotesAndPowerCuts(t *testing.T) {
	c := &cutter{r: rand.New(rand.NewPCG(5, 5)), fs: vfs.NewCrashableMem()}
	s := open(t, store.Options{Dir: "data", FS: c.disk(), TableBytes: 64 << 10})
	keepNotes(t, s, map[string][]byte{"a": []byte("first"), "b": []byte("first")})
	states := []string{notesOf(t, s)}
	c.mu.Lock()
	c.every = 4
	c.mu.Unlock()
	for i := range 60 {
		v := fmt.Appendf(nil, "%d-%02000d", i, i)
		set := map[string][]byte{"a": v, "b": v, fmt.Sprint("n", i): v}
		keepNotes(t, s, set, fmt.Sprint("n", i-2))
		c.acknowledge()
		states = append(states, notesOf(t, s))
	}
	c.mu.Lock()
	c.every = 0
	c.mu.Unlock()
	if len(c.cuts) < 10 {
		t.Fatalf("only %d power cuts", len(c.cuts))
	}
	for _, cut := range c.cuts {
		got := notesOf(t, open(t, store.Options{Dir: "data", FS: cut.fs}))
		if got != states[cut.acked] && (cut.acked+1 >= len(states) || got != states[cut.acked+1]) {
			t.Errorf("after %d writes there is %.100q", cut.acked, got)
		}
	}
}

func TestNotesThatCannotBeKept(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	b := &breaker{which: isWAL, err: syscall.EIO}
	s := open(t, store.Options{
		Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(b.hook)), Floor: 1 << 20,
		FreeSpace: func() (uint64, error) { return free.Load(), nil },
	})
	keepNotes(t, s, map[string][]byte{"a": []byte("1")})
	free.Store(1<<20 + 100)
	if err := s.KeepNotes(map[string][]byte{"a": make([]byte, 100)}, nil); !errors.Is(err, store.ErrFull) {
		t.Errorf("at the floor: %v", err)
	}
	if err := s.Room(); err != nil {
		t.Errorf("just above the floor: %v", err)
	}
	free.Store(1<<20 - 1)
	if err := s.Room(); !errors.Is(err, store.ErrFull) {
		t.Errorf("below the floor: %v", err)
	}
	keepNotes(t, s, nil)
	free.Store(1 << 40)
	if got := notesOf(t, s); got != "a=1 " {
		t.Errorf("%q", got)
	}
	b.on.Store(true)
	for range 2 {
		if err := s.KeepNotes(map[string][]byte{"a": []byte("2")}, nil); !errors.Is(err, store.ErrFailed) {
			t.Errorf("on a broken disk: %v", err)
		}
	}
	if _, err := s.Begin(); !errors.Is(err, store.ErrFailed) {
		t.Errorf("events are still taken: %v", err)
	}
}

func TestNotesAndClose(t *testing.T) {
	started, goOn := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	s := open(t, store.Options{Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isWAL(op) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && armed.CompareAndSwap(true, false) {
			close(started)
			<-goOn
		}
		return nil
	}))})
	armed.Store(true)
	ended := make(chan error, 1)
	go func() { ended <- s.KeepNotes(map[string][]byte{"a": []byte("1")}, nil) }()
	<-started
	if err := s.Close(); !errors.Is(err, store.ErrBusy) {
		t.Errorf("close under it: %v", err)
	}
	if err := s.KeepNotes(nil, []string{"a"}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("two at a time: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.KeepNotes(nil, []string{"a"}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after: %v", err)
	}
	if _, err := s.Notes(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after: %v", err)
	}
}
