package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// packsOf are the files of a repository's packs.
func packsOf(t *testing.T, dir string, repo gitrepo.ID) (files []os.FileInfo) {
	t.Helper()
	id := repo.String()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"+id[len(id)-4:]+"*", "objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, info)
	}
	return files
}

// TestCopiesAreLinked: where one pack has what another repository lacks, copying links it; where a pack has more, or the other repository has a part
// of what it needs in a way that no pack fits, one is made, unless the caller wants none made.
func TestCopiesAreLinked(t *testing.T) {
	g, err := gitproc.Open(t.Context(), gitproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := tempDir(t)
	d := openDisk(t, gitrepo.Config{Dir: dir, Git: g})
	c := newClone(t)
	one := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Tips: ids{one}})
	copied := func(to byte, p gitrepo.Proving) error {
		q, proof, err := d.CopyInto(t.Context(), some(1), some(to), p)
		if err != nil {
			return err
		}
		if proof.Bytes == 0 {
			t.Error("nothing is counted for what is linked")
		}
		return errors.Join(d.Admit(q, some(to)), q.Close())
	}
	same := func(to byte, want int) {
		t.Helper()
		n := 0
		for _, a := range packsOf(t, dir, some(1)) {
			for _, b := range packsOf(t, dir, some(to)) {
				if os.SameFile(a, b) {
					n++
				}
			}
		}
		if n != want {
			t.Errorf("repository %d shares %d packs, want %d", to, n, want)
		}
	}
	if err := copied(2, gitrepo.Proving{Tips: ids{one}, Linked: true}); err != nil {
		t.Fatal(err)
	}
	same(2, 1)
	two := c.commit("main", 1, one)
	push(t, d, some(1), c.pack("main", "^"+one.String()), gitrepo.Proving{Tips: ids{two}, Haves: ids{one}})
	if err := copied(2, gitrepo.Proving{Tips: ids{two}, Haves: ids{one}, Linked: true}); err != nil {
		t.Fatal(err)
	}
	same(2, 2)
	wantMissing(t, d, some(2), ids{one, two}, 0)

	unwalked := func(to byte, p gitrepo.Proving) {
		t.Helper()
		before := g.Stats(gitproc.Upload).Ended
		if err := copied(to, p); !errors.Is(err, gitrepo.ErrNotLinked) || g.Stats(gitproc.Upload).Ended != before {
			t.Errorf("what stands in two packs: %v, after %d processes", err, g.Stats(gitproc.Upload).Ended-before)
		}
	}
	unwalked(3, gitrepo.Proving{Tips: ids{two}, Linked: true})
	if err := copied(3, gitrepo.Proving{Tips: ids{two}}); err != nil {
		t.Fatal(err)
	}
	same(3, 0)
	wantMissing(t, d, some(3), ids{one, two}, 0)

	other := c.commit("other", 1, two)
	more := c.commit("more", 1, two)
	push(t, d, some(1), c.pack("other", "more", "^"+two.String()), gitrepo.Proving{Tips: ids{other, more}, Haves: ids{two}})
	if err := copied(2, gitrepo.Proving{Tips: ids{other}, Haves: ids{two}, Linked: true}); !errors.Is(err, gitrepo.ErrNotLinked) {
		t.Errorf("a pack that has more than is named: %v", err)
	}
	if err := copied(2, gitrepo.Proving{Tips: ids{other}, Haves: ids{two}}); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, d, some(2), ids{other, more}, 1)

	third := c.commit("third", 1, more)
	push(t, d, some(1), c.pack("third", "^"+more.String()), gitrepo.Proving{Tips: ids{third}, Haves: ids{more}})
	unwalked(2, gitrepo.Proving{Tips: ids{more, third}, Haves: ids{other}, Linked: true})
}
