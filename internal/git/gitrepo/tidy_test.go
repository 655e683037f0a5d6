package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// take takes packs out of the manifest of a repository, and returns what gives them back.
func (s *shelf) take(repo gitrepo.ID, names ...refdb.PackName) (giveBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.has[repo]
	s.has[repo] = slices.DeleteFunc(slices.Clone(before), func(p refdb.Pack) bool { return slices.Contains(names, p.Name) })
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.has[repo] = before
	}
}

// TestPacksThatNoManifestHas go from the disk, when those have ended who read them, and an index over several packs goes at once. What stands beside the
// packs stays.
func TestPacksThatNoManifestHas(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tips := manyKept(t, d, s, some(1), newClone(t), "main", 3)
	m, _ := s.Manifest(some(1))
	at := filepath.Join(pathOf(dir, some(1)), "objects", "pack")
	for _, name := range []string{"multi-pack-index", "other"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tidy := func(files, bytes int) {
		t.Helper()
		if err := d.Local().Tidy(some(1)); err != nil {
			t.Fatal(err)
		}
		var got []string
		sum := 0
		for _, name := range entries(t, at) {
			got = append(got, name)
			if info, err := os.Stat(filepath.Join(at, name)); err == nil && !strings.HasSuffix(name, ".idx") {
				sum += int(info.Size())
			}
		}
		if len(got) != files || d.Local().Bytes() != int64(sum) || bytes >= 0 && sum != bytes {
			t.Errorf("there are %q, of %d bytes, and %d are counted", got, sum, d.Local().Bytes())
		}
	}
	tidy(8, -1) // the manifest has all, so nothing goes
	before, err := d.ReadingAll(some(1))
	if err != nil {
		t.Fatal(err)
	}
	s.take(some(1), m[0].Name)
	tidy(7, -1)
	tidy(7, -1) // also where somebody looks again
	after := d.Reading(some(1))
	s.take(some(1), m[1].Name)
	tidy(7, -1)
	if got, err := d.Lacks(some(1), tips); err != nil || len(got) != 2 {
		t.Errorf("it lacks %v (%v)", got, err)
	}
	before()
	if got := entries(t, at); len(got) != 5 || d.Local().Bytes() != m[1].Files[0].Bytes+m[2].Files[0].Bytes+1 {
		t.Errorf("there are %q, and %d bytes are counted", got, d.Local().Bytes())
	}
	after()
	tidy(3, int(m[2].Files[0].Bytes)+1)
	s.take(some(1), m[2].Name)
	tidy(1, 1)
	if err := d.Local().Tidy(some(2)); err != nil { // there is nothing of it
		t.Error(err)
	}
}

// TestAPackThatComesBack into the manifest while somebody still reads it stays for those who read it then.
func TestAPackThatComesBack(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tips := manyKept(t, d, s, some(1), newClone(t), "main", 2)
	m, _ := s.Manifest(some(1))
	end := d.Reading(some(1))
	giveBack := s.take(some(1), m[0].Name)
	if err := d.Local().Tidy(some(1)); err != nil {
		t.Fatal(err)
	}
	giveBack()
	if err := d.Local().Bring(t.Context(), some(1), ""); err != nil {
		t.Fatal(err)
	}
	end()
	if got := len(strings.Fields(packFiles(t, dir))); got != 4 || s.fetched() != "" {
		t.Errorf("%d files", got)
	}
	if _, err := packedBytes(d, some(1), tips[1]); err != nil {
		t.Error(err)
	}
}

// TestADirectoryComesWithItsPacks for whoever reads a repository, and for nobody where there are none.
func TestADirectoryComesWithItsPacks(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tip := manyKept(t, d, s, some(1), c, "main", 1)[0]
	for name, read := range map[string]func(gitrepo.ID) error{
		"a pack": func(repo gitrepo.ID) error { _, err := packedBytes(d, repo, tip); return err },
		"a page": func(repo gitrepo.ID) error {
			return d.Ask(t.Context(), repo, gitrepo.For{}, func(a *gitrepo.Asking) error {
				got, err := a.Stat(tip)
				if err == nil && got[0].Kind != "commit" {
					err = errors.New("it is not there")
				}
				return err
			})
		},
		"a merge": func(repo gitrepo.ID) error {
			_, _, err := d.Merge(t.Context(), repo, gitrepo.For{}, tip, tip, 1000)
			return err
		},
		"an archive": func(repo gitrepo.ID) error {
			var n counter
			return d.Archive(t.Context(), repo, tip, "x", "", &n)
		},
	} {
		wipeOut(t, dir, some(1))
		if err := read(some(1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := read(some(2)); err == nil {
			t.Errorf("%s: of what is not there", name)
		}
		if there, err := os.Stat(pathOf(dir, some(2))); err == nil {
			t.Errorf("%s: there is %v", name, there)
		}
	}
	wantMissing(t, d, some(1), ids{tip, c.commit("none", 1, gitwire.ObjectID{})}, 1)
}
