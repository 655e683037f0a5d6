package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
)

// crashable copies a directory to a disk that can lose its power.
func crashable(t testing.TB, from vfs.FS) *vfs.MemFS {
	t.Helper()
	c := vfs.NewCrashableMem()
	if err := c.MkdirAll("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if ok, err := vfs.Clone(from, c, "data/store", "data/store", vfs.CloneSync); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, dir := range []string{"", "data"} {
		d, err := c.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestPowerCutsDuringARepair: whatever the moment, there is one store of this name that opens and has everything, or,
// where there was none that opens, one that can be repaired.
func TestPowerCutsDuringARepair(t *testing.T) {
	for _, sound := range []bool{true, false} {
		t.Run(fmt.Sprint("sound ", sound), func(t *testing.T) {
			t.Parallel()
			o, before := lived(t, 11, 30)
			if !sound {
				removeLike(t, o, "marker.manifest")
			}
			disk := crashable(t, o.FS)
			c := &cutter{r: rand.New(rand.NewPCG(5, 9)), fs: disk, every: 8, most: 60}
			c.always = func(op errorfs.Op) bool {
				return op.Kind == errorfs.OpRename && !strings.Contains(op.Path, "/store.repair/")
			}
			during := o
			during.FS = c.disk()
			if r, err := storecheck.Repair(t.Context(), during, storecheck.CheckOptions{}); err != nil {
				t.Fatal(err, r)
			}
			c.mu.Lock()
			c.every = 0
			c.mu.Unlock()
			opened := 0
			for i, cut := range c.cuts {
				after := o
				after.FS = cut.fs
				s, err := store.Open(after)
				if err == nil {
					opened++
					check(t, s)
					s.Close()
				} else if sound || !errors.Is(err, store.ErrDamaged) {
					t.Fatalf("cut %d: %v", i, err)
				} else if _, err := storecheck.Repair(t.Context(), after, storecheck.CheckOptions{}); err != nil {
					t.Fatalf("cut %d: %v", i, err)
				}
				if d := difference(before, told(t, after)); d != "" {
					t.Errorf("cut %d: %s", i, d)
				}
			}
			if len(c.cuts) < 6 || opened == 0 || !sound && opened == len(c.cuts) {
				t.Errorf("%d cuts, %d opened", len(c.cuts), opened)
			}
		})
	}
}

// TestARepairThatFails leaves the store as it was, and nothing beside it, whichever write fails.
func TestARepairThatFails(t *testing.T) {
	o, before := lived(t, 12, 15)
	broken := errors.New("no more")
	for k := int64(0); ; k += 11 {
		c := o
		c.FS = clone(t, o.FS)
		during := c
		var n atomic.Int64
		during.FS = errorfs.Wrap(c.FS, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpRemove || op.Kind == errorfs.OpRemoveAll {
				return nil
			}
			if n.Add(1) > k {
				return broken
			}
			return nil
		}))
		_, err := storecheck.Repair(t.Context(), during, storecheck.CheckOptions{})
		if err == nil {
			break
		}
		if !errors.Is(err, broken) {
			t.Errorf("write %d: %v", k, err)
		}
		if d := difference(before, told(t, c)); d != "" {
			t.Errorf("write %d: %s", k, d)
		}
		if _, err := c.FS.Stat("data/store.repair"); err == nil {
			t.Errorf("write %d: half a store is left", k)
		}
	}
}

// TestARepairWhoseSwapFails leaves the store as it was and nothing beside it, or one that the next opening puts in place,
// whichever of the renames and the syncs between them fails, and whether what follows fails, too.
func TestARepairWhoseSwapFails(t *testing.T) {
	o, before := lived(t, 12, 15)
	broken := errors.New("no more")
	for _, lasting := range []bool{false, true} {
		for k := range int64(6) {
			c := o
			c.FS = clone(t, o.FS)
			during := c
			var n, renames atomic.Int64
			during.FS = errorfs.Wrap(c.FS, errorfs.InjectorFunc(func(op errorfs.Op) error {
				rename := op.Kind == errorfs.OpRename && strings.HasPrefix(op.Path, "data/store") && !strings.Contains(op.Path, "/store.repair/")
				sync := op.Kind == errorfs.OpFileSync && op.Path == "data"
				if rename {
					renames.Add(1)
				}
				if !rename && (!sync || renames.Load() == 0) {
					return nil
				}
				if i := n.Add(1) - 1; i == k || lasting && i > k {
					return broken
				}
				return nil
			}))
			if _, err := storecheck.Repair(t.Context(), during, storecheck.CheckOptions{}); !errors.Is(err, broken) {
				t.Errorf("step %d: %v", k, err)
			}
			s, err := store.Open(c)
			if err != nil {
				t.Fatal(err)
			}
			check(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if d := difference(before, told(t, c)); d != "" {
				t.Errorf("step %d: %s", k, d)
			}
			for _, suffix := range []string{".repair", ".repaired"} {
				if _, err := c.FS.Stat("data/store" + suffix); err == nil {
					t.Errorf("step %d: %s is left", k, suffix)
				}
			}
		}
	}
}

// TestRepairAfterOneThatWasInterrupted: where only the last step was missing, the repaired store is the one to repair.
func TestRepairAfterOneThatWasInterrupted(t *testing.T) {
	o, before := lived(t, 12, 15)
	if err := o.FS.Rename("data/store", "data/store.repaired"); err != nil {
		t.Fatal(err)
	}
	r, after := repaired(t, o)
	if d := difference(before, after); d != "" || r.Salvaged != nil {
		t.Errorf("%+v, %s", r, d)
	}
}

// TestRepairBesideWhatOthersLeft: what repairs left that were cut off is no part of the next one, and goes.
func TestRepairBesideWhatOthersLeft(t *testing.T) {
	o, before := lived(t, 12, 15)
	other, _ := lived(t, 13, 15)
	dir := filepath.Join(t.TempDir(), "store")
	suffixes := []string{".repair", ".repaired", ".salvage"}
	for _, suffix := range append(suffixes, "") {
		from := other
		if suffix == "" {
			from = o
		}
		if ok, err := vfs.Clone(from.FS, vfs.Default, from.Dir, dir+suffix); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	o.Dir, o.FS = dir, vfs.Default // which does not rename a directory onto another one
	r, after := repaired(t, o)
	if d := difference(before, after); d != "" || r.LeftOut > 0 {
		t.Errorf("%+v, %s", r, d)
	}
	for _, suffix := range suffixes {
		if _, err := os.Stat(dir + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", suffix, err)
		}
	}
}
