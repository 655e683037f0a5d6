package store_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
)

// TestOpeningOnFailingDisk: whichever write fails while a store is opened, it is an error and nothing else, and the
// store opens as it was when the disk works again.
func TestOpeningOnFailingDisk(t *testing.T) {
	full := vfs.NewCrashableMem()
	s, err := store.Open(store.Options{Dir: "data", FS: full})
	if err != nil {
		t.Fatal(err)
	}
	fill(s, 0, 20)
	used := full.CrashClone(vfs.CrashCloneCfg{}) // to be recovered from the log
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, disk := range []struct {
		name string
		fs   *vfs.MemFS
		want int
	}{{"new", vfs.NewCrashableMem(), 0}, {"used", used, 20}} {
		failures := 0
		for k := int64(0); ; k++ {
			fs := disk.fs.CrashClone(vfs.CrashCloneCfg{})
			var writes atomic.Int64
			broken := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && writes.Add(1) > k {
					return syscall.EIO
				}
				return nil
			}))
			what := fmt.Sprintf("%s disk, write %d", disk.name, k)
			s, err := store.Open(store.Options{Dir: "data", FS: broken})
			if err == nil {
				s.Close()
			} else if failures++; !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: %v", what, err)
			}
			if s, err = store.Open(store.Options{Dir: "data", FS: fs}); err != nil {
				t.Fatalf("%s, then on a disk that works: %v", what, err)
			}
			if n := len(readAll(t, s)); n != disk.want {
				t.Errorf("%s: %d events", what, n)
			}
			check(t, s)
			s.Close()
			if writes.Load() <= k {
				break // nothing failed
			}
		}
		if failures == 0 {
			t.Errorf("%s disk: nothing failed", disk.name)
		}
	}
}

func TestClose(t *testing.T) {
	mem := vfs.NewMem()
	s, err := store.Open(store.Options{Dir: "data", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, store.ErrBusy) {
		t.Errorf("close under an open batch: %v", err)
	}
	b.Discard()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("close again: %v", err)
	}
	if _, err := s.Begin(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("begin: %v", err)
	}
	if _, _, err := s.Since(0, 1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("since: %v", err)
	}
	if n := s.Stats().Events; n != 0 {
		t.Errorf("%d events", n)
	}
}
