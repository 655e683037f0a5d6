package latelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

// late opens a log that is late, upon another one.
func late(t testing.TB, dir string, under commitlog.Log, within time.Duration) *Log {
	t.Helper()
	l, err := New(dir, under, within)
	if err != nil {
		t.Fatal(err)
	}
	l.Delay()
	return l
}

// end ends a log with what waits left on the disk.
func (l *Log) end() {
	ctx, cut := context.WithCancel(context.Background())
	cut()
	l.Close(ctx)
}

func TestContract(t *testing.T) {
	for name, fault := range map[string]logtest.Fault{"carried": logtest.Well, "waiting": logtest.LostBefore} {
		t.Run(name, func(t *testing.T) {
			logtest.Contract(t, func(t testing.TB) commitlog.Log {
				l := late(t, t.TempDir(), &logtest.Memory{Fault: func(commitlog.Entry) logtest.Fault { return fault }}, time.Hour)
				t.Cleanup(l.end)
				return l
			})
		})
	}
}

// entries are some commits that follow one another from a position on.
func entries(from commitlog.Position, before commitlog.Chain, n int) (all []waiting) {
	for i := range n {
		e := commitlog.NewEntry(from+commitlog.Position(i), before, fmt.Append(nil, "commit ", i))
		all = append(all, waiting{Entry: e, before: before})
		before = e.Chain
	}
	return all
}

func put(t testing.TB, l commitlog.Log, all []waiting) {
	t.Helper()
	for _, w := range all {
		if r, err := l.Append(t.Context(), w.At, w.before, w.Body); r != commitlog.Done || err != nil {
			t.Fatal(w.At, r, err)
		}
	}
}

// has requires that a log has these entries, and no more.
func has(t testing.TB, l commitlog.Log, all []waiting) {
	t.Helper()
	for _, w := range all {
		if e, err := l.Read(t.Context(), w.At); err != nil || e.Chain != w.Chain {
			t.Errorf("entry %d: %v, %v", w.At, e.Chain, err)
		}
	}
	if _, err := l.Read(t.Context(), all[len(all)-1].At+1); !errors.Is(err, commitlog.ErrNone) {
		t.Errorf("behind the last one: %v", err)
	}
}

func files(t testing.TB, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestWhatWaitsComesLater: a commit is done although the other log is away, up to the time within which that is to have it; then the next one waits.
// The other log has all in the end, and nothing stays on the disk.
func TestWhatWaitsComesLater(t *testing.T) {
	synctest.Test(t, whatWaitsComesLater)
}

func whatWaitsComesLater(t *testing.T) {
	var away atomic.Bool
	under := &logtest.Memory{Fault: func(commitlog.Entry) logtest.Fault {
		if away.Load() {
			return logtest.LostBefore
		}
		return logtest.Well
	}}
	dir := t.TempDir()
	l, err := New(dir, under, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer l.end()
	all := entries(1, commitlog.Chain{}, 5)
	put(t, l, all[:1])
	if n, _ := l.Waits(); n != 0 || files(t, dir) != 0 {
		t.Errorf("%d wait before any is to", n)
	}
	has(t, under, all[:1])
	away.Store(true)
	l.Delay()
	began := time.Now()
	put(t, l, all[1:4])
	if n, since := l.Waits(); n != 3 || since.Before(began) || files(t, dir) != 3 {
		t.Errorf("%d wait since %v, %d on the disk", n, since, files(t, dir))
	}
	has(t, l, all[:4])
	short, cut := context.WithTimeout(t.Context(), time.Second)
	defer cut()
	time.Sleep(200 * time.Millisecond)
	if r, err := l.Append(short, all[4].At, all[4].before, all[4].Body); r != commitlog.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("behind one that waits for too long: %v, %v", r, err)
	}
	if err := l.Flush(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("flushed: %v", err)
	}
	away.Store(false)
	put(t, l, all[4:])
	if err := l.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if n, _ := l.Waits(); n != 0 || files(t, dir) != 0 {
		t.Errorf("%d wait, %d on the disk", n, files(t, dir))
	}
	has(t, under, all)
}

// TestAnotherOneHasWritten: where the other log has something else, nothing more is done, and what waits is left.
func TestAnotherOneHasWritten(t *testing.T) {
	under := new(logtest.Memory)
	dir := t.TempDir()
	l := late(t, dir, under, time.Hour)
	defer l.end()
	all, others := entries(1, commitlog.Chain{}, 4), entries(1, commitlog.Chain{7}, 1)
	put(t, under, others)
	put(t, l, all[:1])
	if err := l.Flush(t.Context()); !errors.Is(err, commitlog.ErrOther) {
		t.Errorf("flushed: %v", err)
	}
	for _, w := range all {
		if err := commitlog.Settle(t.Context(), l, w.Entry, w.before); !errors.Is(err, commitlog.ErrOther) {
			t.Errorf("commit %d: %v", w.At, err)
		}
	}
	l.end()
	if _, err := Put(t.Context(), dir, under); !errors.Is(err, ErrLeft) || files(t, dir) != 1 {
		t.Errorf("put: %v, %d files", err, files(t, dir))
	}
}

// left is a directory in which an earlier life has left these.
func left(t testing.TB, all []waiting) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range all {
		if err := write(dir, w); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWhatAnEarlierLifeHasLeft comes into the log at the next start, some of it once more, and a file that was not finished goes.
func TestWhatAnEarlierLifeHasLeft(t *testing.T) {
	all := entries(1, commitlog.Chain{}, 5)
	for there := range 5 {
		under := new(logtest.Memory)
		put(t, under, all[:there])
		dir := left(t, all[min(there, 2):])
		if err := os.WriteFile(filepath.Join(dir, "1.tmp"), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := Put(t.Context(), dir, under)
		if err != nil || n != 5-min(there, 2) || files(t, dir) != 0 {
			t.Errorf("%d are there: %d, %v, %d files", there, n, err, files(t, dir))
		}
		has(t, under, all)
	}
	if n, err := Put(t.Context(), filepath.Join(t.TempDir(), "none"), new(logtest.Memory)); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestWhatHasNoPlaceAnyMore: a log that has something else, that has gone on, that was trimmed meanwhile, or that is another one takes nothing.
func TestWhatHasNoPlaceAnyMore(t *testing.T) {
	all := entries(1, commitlog.Chain{}, 6)
	other := entries(3, all[1].Chain, 3)
	other[0].Entry = commitlog.NewEntry(3, all[1].Chain, []byte("other"))
	for name, there := range map[string][]waiting{
		"another history": {all[0], all[1], other[0]}, "gone on": all, "another chain": entries(1, commitlog.Chain{5}, 2), "empty": nil,
		"trimmed but for the one before": {all[1], all[5]}, "trimmed": {all[5]},
	} {
		under := new(logtest.Memory)
		put(t, under, there)
		dir := left(t, all[2:4])
		n, err := Put(t.Context(), dir, under)
		if !errors.Is(err, ErrLeft) || n != 0 || files(t, dir) != 2 {
			t.Errorf("%s: %d, %v, %d files", name, n, err, files(t, dir))
		}
	}
}

// TestFilesThatAreNoCommits: nothing comes into the log, and the error names the file.
func TestFilesThatAreNoCommits(t *testing.T) {
	all := entries(1, commitlog.Chain{}, 3)
	for what, spoil := range map[string]func(dir string) error{
		"cut":       func(dir string) error { return os.Truncate(filepath.Join(dir, name(2)), 40) },
		"empty":     func(dir string) error { return os.Truncate(filepath.Join(dir, name(2)), 0) },
		"cut later": func(dir string) error { return os.Truncate(filepath.Join(dir, name(2)), 66) },
		"a gap":     func(dir string) error { return os.Remove(filepath.Join(dir, name(2))) },
		"a name":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "2"), nil, 0o600) },
	} {
		dir, under := left(t, all), new(logtest.Memory)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Put(t.Context(), dir, under); err == nil || errors.Is(err, ErrLeft) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := under.Read(t.Context(), 1); !errors.Is(err, commitlog.ErrNone) {
			t.Errorf("%s: something came into the log", what)
		}
	}
}
