package gitrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// quarantines are the paths of those that are there.
func quarantines(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "incoming*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A git process that outlives a kill writes where it was told to. That is no place of whoever comes next.
func TestAQuarantineIsNobodyElses(t *testing.T) {
	_, dir := disk(t)
	var before []string
	for range 3 {
		d := openDisk(t, gitrepo.Config{Dir: dir})
		if left := quarantines(t, dir); len(left) > 0 {
			t.Errorf("%q are left of the last one", left)
		}
		for range 3 {
			begin(t, d, some(1))
		}
		now := quarantines(t, dir)
		if len(now) != 3 {
			t.Fatalf("%q", now)
		}
		for _, path := range now {
			if slices.Contains(before, path) {
				t.Errorf("%s was another one's", path)
			}
		}
		before = append(before, now...)
	}
}

// A kill in the middle of a start keeps nobody from the next one.
func TestAStartThatWasKilled(t *testing.T) {
	d, dir := disk(t)
	begin(t, d, some(1))
	if err := os.MkdirAll(filepath.Join(dir, "dropped", "x", "y"), 0o700); err != nil {
		t.Fatal(err)
	}
	openDisk(t, gitrepo.Config{Dir: dir})
	if _, err := os.Stat(filepath.Join(dir, "dropped")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was dropped is there (%v)", err)
	}
}

// What still writes after a kill keeps nobody from starting.
func TestAStartBesideWhatStillWrites(t *testing.T) {
	_, dir := disk(t)
	over := make(chan struct{})
	var writing sync.WaitGroup
	for range 2 {
		writing.Go(func() {
			for {
				for _, path := range quarantines(t, dir) {
					err := os.WriteFile(filepath.Join(path, "objects/pack/tmp"), nil, 0o600)
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	c := newClone(t)
	pack := c.pack(c.commit("main", 1, gitwire.ObjectID{}).String())
	for range 12 {
		d := openDisk(t, gitrepo.Config{Dir: dir})
		receive(t, begin(t, d, some(1)), pack)
	}
	close(over)
	writing.Wait()
}
