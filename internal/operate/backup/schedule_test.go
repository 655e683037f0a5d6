package backup

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// world is a relay that makes backups of a directory with some files.
type world struct {
	*Scheduler
	data  string
	dir   string
	ahead time.Duration // of the clock
	free  uint64
	fail  error // of the next backups
}

func newWorld(t *testing.T, keep int) *world {
	t.Helper()
	w := &world{data: t.TempDir(), dir: t.TempDir(), free: 1 << 40}
	if err := os.WriteFile(filepath.Join(w.data, "relay.key"), bytes.Repeat([]byte("secret"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start(keep)
	return w
}

// start is a start of the relay.
func (w *world) start(keep int) {
	w.Scheduler = NewScheduler(Schedule{
		Dir: w.dir, Every: day, Keep: keep, Name: "graspd-ab", Floor: 1 << 30,
		Make: func(ctx context.Context, begin Start) error {
			size, err := Size(w.data)
			if err != nil {
				return err
			}
			to, done, err := begin(size)
			if err != nil {
				return err
			}
			if w.fail != nil {
				if _, err := to.Write(make([]byte, 1<<20)); err != nil {
					return err
				}
				return w.fail
			}
			return Write(ctx, to, w.data, time.Now(), done)
		},
		Free:   func(string) (uint64, error) { return w.free, nil },
		Now:    func() time.Time { return time.Now().Add(w.ahead) },
		Logger: slog.New(slog.DiscardHandler),
	})
}

// runs lets the relay run for a while.
func (w *world) runs(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
}

// there are the names of all files in the directory of backups.
func (w *world) there(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestBackupsAreMade at the interval, over restarts, and so many stay; each can be unpacked and is for its owner alone.
func TestBackupsAreMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		w.runs(t, time.Hour)
		first := w.there(t)
		if len(first) != 1 {
			t.Fatalf("after the start: %q", first)
		}
		for range 5 { // starts do not make one each, and put none off
			w.start(3)
			w.runs(t, 4*time.Hour)
		}
		if got := w.there(t); !slices.Equal(got, first) {
			t.Fatalf("within a day: %q", got)
		}
		w.runs(t, 4*time.Hour)
		if got := w.there(t); len(got) != 2 {
			t.Fatalf("after a day: %q", got)
		}
		w.runs(t, 5*day)
		got := w.there(t)
		if len(got) != 3 || slices.Contains(got, first[0]) {
			t.Fatalf("after six days: %q", got)
		}
		s := w.Status()
		if s.Kept != 3 || s.Failures > 0 || s.Running || time.Since(s.Last.Time) > day+time.Minute || time.Until(s.Next.Time) > day || s.Problem(time.Now()) != "" {
			t.Errorf("%+v", s)
		}
		f, err := os.Open(filepath.Join(w.dir, got[2]))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := Unpack(t.Context(), f, t.TempDir(), func(int64) {}); err != nil {
			t.Error(err)
		}
	})
}

// TestABackupThatFails leaves nothing, is a problem, is tried again sooner than the interval and never at once, and removes none of those
// that are there.
func TestABackupThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.runs(t, time.Minute)
		first := w.there(t)
		w.fail = errors.New("the disk is on fire")
		w.runs(t, 26*time.Hour)
		if got := w.there(t); !slices.Equal(got, first) {
			t.Fatalf("%q", got)
		}
		s := w.Status()
		if p := s.Problem(time.Now()); s.Failures < 5 || s.Failures > 10 || !strings.Contains(p, "on fire") || !strings.Contains(p, s.Last.UTC().Format(time.RFC3339)) {
			t.Errorf("%d failures: %s", s.Failures, p)
		}
		w.fail = nil
		w.runs(t, time.Hour)
		if got := w.there(t); len(got) != 1 || got[0] == first[0] {
			t.Errorf("%q", got)
		}
		if s := w.Status(); s.Failures != 0 || s.Problem(time.Now()) != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestNoRoom: a backup that would go below the floor is not begun, and one that does is given up.
func TestNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.free = 1<<30 + 1000
		w.runs(t, time.Minute)
		if s := w.Status(); len(w.there(t)) > 0 || !strings.Contains(string(s.Cause), "no room") {
			t.Errorf("%q, %+v", w.there(t), s)
		}
		w.free = 1 << 40
		if err := os.WriteFile(filepath.Join(w.data, "large"), make([]byte, 3*step), 0o600); err != nil {
			t.Fatal(err)
		}
		w.c.Free = func(string) (uint64, error) { w.free -= 1 << 40 / 2; return w.free, nil } // the disk fills while it is made
		w.start(1)
		w.c.Free = func(string) (uint64, error) { w.free /= 2048; return w.free * 2048, nil }
		w.runs(t, time.Minute)
		if s := w.Status(); len(w.there(t)) > 0 || !strings.Contains(string(s.Cause), "no room") {
			t.Errorf("on the way: %q, %+v", w.there(t), s)
		}
	})
}

// TestWhatIsNotWhole: what a kill has left goes, what only has the name of a backup counts for none and is told, and what others keep in
// the directory stays.
func TestWhatIsNotWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.runs(t, time.Minute)
		good := w.there(t)[0]
		b, err := os.ReadFile(filepath.Join(w.dir, good))
		if err != nil {
			t.Fatal(err)
		}
		left, cut := nameAt("graspd-ab", time.Now())+partial, nameAt("graspd-ab", time.Now().Add(20*time.Hour))
		others := []string{"graspd-cd-20261124T120000Z.tar", "graspd-cd-20261124T120000Z.tar.partial", "notes"}
		for name, body := range map[string][]byte{left: b, cut: b[:len(b)-1100], others[0]: b, others[1]: b, others[2]: b} {
			if err := os.WriteFile(filepath.Join(w.dir, name), body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.runs(t, 25*time.Hour)
		got := w.there(t)
		if slices.Contains(got, left) || !slices.Contains(got, cut) || len(got) != len(others)+3 {
			t.Errorf("%q", got)
		}
		s := w.Status()
		if s.Kept != 2 || !strings.Contains(s.Problem(time.Now()), cut) {
			t.Errorf("%d: %s", s.Kept, s.Problem(time.Now()))
		}
	})
}

// TestAStopInTheMiddle leaves no part, and is no failure.
func TestAStopInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		if err := os.WriteFile(filepath.Join(w.data, "large"), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		w.c.Rate = 1000
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if s := w.Status(); len(w.there(t)) > 0 || s.Failures > 0 {
			t.Errorf("%q, %+v", w.there(t), s)
		}
	})
}

// TestTheRate: a backup is written no faster than it may be.
func TestTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		if err := os.WriteFile(filepath.Join(w.data, "large"), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		w.c.Rate = 64 << 10
		w.runs(t, 15*time.Second)
		if got := w.there(t); len(got) > 0 {
			t.Fatalf("within 10 s: %q", got)
		}
		w.runs(t, 30*time.Second)
		if got := w.there(t); len(got) != 1 {
			t.Fatalf("within 25 s: %q", got)
		}
	})
}

// TestABackupByHand puts one off, which is no failure.
func TestABackupByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		busy := true
		make := w.c.Make
		w.c.Make = func(ctx context.Context, begin Start) error {
			if busy {
				return ErrRunning
			}
			return make(ctx, begin)
		}
		w.runs(t, time.Minute)
		if s := w.Status(); s.Failures > 0 || len(w.there(t)) > 0 {
			t.Errorf("%+v", s)
		}
		busy = false
		w.runs(t, 2*time.Minute)
		if len(w.there(t)) != 1 {
			t.Error("none was made after it")
		}
	})
}

// TestADirectoryThatIsGone is a problem, until it is back.
func TestADirectoryThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		if err := os.Remove(w.dir); err != nil {
			t.Fatal(err)
		}
		w.runs(t, time.Hour)
		if s := w.Status(); !strings.Contains(s.Problem(time.Now()), "no such file") {
			t.Errorf("%+v", s)
		}
		if err := os.Mkdir(w.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		w.runs(t, 2*time.Minute)
		if s := w.Status(); len(w.there(t)) != 1 || s.Problem(time.Now()) != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestWhatAStalledRelayTells: where none was made for long the operator is told, whatever the reason.
func TestWhatAStalledRelayTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.runs(t, time.Minute)
		s := w.Status()
		if text := s.Problem(time.Now().Add(2 * day)); text != "" {
			t.Errorf("too soon: %s", text)
		}
		if text := s.Problem(time.Now().Add(3 * day)); !strings.Contains(text, "no backup") {
			t.Errorf("%q", text)
		}
	})
}
