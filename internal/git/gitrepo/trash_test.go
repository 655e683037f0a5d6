package gitrepo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// bytesBelow is what the files below a directory have.
func bytesBelow(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestTheTrashShrinksFromItsOldest: for as long as that is asked for, and nothing goes that graspd did not put there.
func TestTheTrashShrinksFromItsOldest(t *testing.T) {
	d, dir, now := timed(t)
	if err := d.ShrinkTrash(t.Context(), func(bytes int64) bool { t.Error("there is no trash"); return true }); err != nil {
		t.Fatal(err)
	}
	w := newClone(t)
	tip := w.commit("main", 1, gitwire.ObjectID{})
	order := []byte{2, 9, 1} // not that of their names
	for i, n := range order {
		push(t, d, some(n), w.pack("main"), gitrepo.Proving{Tips: ids{tip}})
		if err := d.Remove(some(n)); err != nil {
			t.Fatal(err)
		}
		now.at = now.at.Add([]time.Duration{time.Hour, 23 * time.Hour, 9000 * time.Hour}[i])
	}
	if err := os.WriteFile(filepath.Join(dir, "trash", "notes-2024"), []byte("of the operator"), 0o600); err != nil {
		t.Fatal(err)
	}
	for left := 3; left >= 0; left-- {
		asked := 0
		err := d.ShrinkTrash(t.Context(), func(bytes int64) bool {
			if want := bytesBelow(t, filepath.Join(dir, "trash")) - int64(len("of the operator")); bytes != want {
				t.Errorf("the trash has %d bytes, and not %d", want, bytes)
			}
			asked++
			return left == 3 || asked == 2
		})
		if err != nil {
			t.Fatal(err)
		}
		names := entries(t, filepath.Join(dir, "trash"))
		names = slices.DeleteFunc(names, func(name string) bool { return name == "notes-2024" || strings.Contains(name, "/") })
		if len(names) != left || slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(order[3-left:], func(n byte) bool { return strings.HasPrefix(name, some(n).String()) })
		}) {
			t.Errorf("%d should be left, and these are: %q", left, names)
		}
	}
	if !slices.Contains(entries(t, filepath.Join(dir, "trash")), "notes-2024") {
		t.Error("what graspd did not put into the trash has gone")
	}
}
