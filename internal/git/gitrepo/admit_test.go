package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// One upload serves several repositories, which share its files and nothing else.
func TestAQuarantineGoesIntoSeveral(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	first := c.commit("main", 3, gitwire.ObjectID{})
	for _, repo := range []gitrepo.ID{some(1), some(2)} {
		push(t, d, repo, c.pack(first.String()), gitrepo.Proving{Tips: ids{first}})
	}
	second := c.commit("main", 3, first)
	q := begin(t, d, some(1))
	receive(t, q, c.pack(second.String(), "^"+first.String()))
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{second}, Haves: ids{first}}); err != nil {
		t.Fatal(err)
	}
	for _, repo := range []gitrepo.ID{some(1), some(2)} {
		if err := d.Admit(q, repo); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, d, repo, c.all("main"), 0)
		if out, err := gitIn(pathOf(dir, repo), nil, "rev-list", "--objects", second.String()); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "ab", "cd", "*", "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 4 {
		t.Fatal(packs, err)
	}
	same := 0
	for i, a := range packs {
		for _, b := range packs[:i] {
			x, err := os.Stat(a)
			if err != nil {
				t.Fatal(err)
			}
			if y, err := os.Stat(b); err == nil && os.SameFile(x, y) {
				same++
			}
		}
	}
	if same != 1 {
		t.Errorf("%d pairs of packs are one file", same)
	}
	// A third one has nothing of what it builds on.
	var missing *gitrepo.MissingError
	if err := d.Admit(q, some(3)); !errors.As(err, &missing) || !slices.Contains(missing.IDs, first) {
		t.Errorf("into an empty one: %v", err)
	}
	if _, err := os.Stat(pathOf(dir, some(3))); err == nil {
		t.Error("there is a directory")
	}
}

// What a repository lacks that comes with a pack by chance, or was dropped from it as the other one has it, is looked for too.
func TestNothingComesAlongFromBeside(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	first := c.commit("main", 3, gitwire.ObjectID{})
	second := c.commit("main", 3, first)
	other := c.commit("other", 3, gitwire.ObjectID{})
	extra := c.commit("extra", 1, gitwire.ObjectID{})
	for name, tip := range map[string]gitwire.ObjectID{"all is there": second, "a part is there": c.commit("main", 1, second), "a part comes along": other} {
		for _, tips := range []ids{{tip}, {tip, extra}} { // git walks where a tip is not in the pack
			t.Run(name, func(t *testing.T) {
				d, _ := disk(t)
				for n := range byte(2) {
					push(t, d, some(1+n), c.pack(extra.String()), gitrepo.Proving{Tips: ids{extra}})
				}
				push(t, d, some(1), c.pack(second.String()), gitrepo.Proving{Tips: ids{second}})
				push(t, d, some(2), c.pack(first.String()), gitrepo.Proving{Tips: ids{first}})
				q := begin(t, d, some(1))
				receive(t, q, c.pack(tip.String(), second.String()))
				if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: tips}); err != nil {
					t.Fatal(err)
				}
				var missing *gitrepo.MissingError
				err := d.Admit(q, some(2))
				if err == nil {
					lacks, err := d.Missing(some(2), c.all(tip.String()))
					if err != nil || len(lacks) > 0 {
						t.Errorf("%s is there without %d objects (%v)", tip, len(lacks), err)
					}
					lacks, err = d.Missing(some(2), c.all(second.String(), "^"+first.String(), "^"+tip.String()))
					if n := len(c.all(second.String(), "^"+first.String(), "^"+tip.String())); err != nil || len(lacks) != n {
						t.Errorf("of %d objects that it does not need %d came along (%v)", n, n-len(lacks), err)
					}
				} else if !errors.As(err, &missing) {
					t.Error(err)
				}
			})
		}
	}
}

// What is not proven, closed, or of another disk is not admitted.
func TestOnlyWhatIsProvenIsAdmitted(t *testing.T) {
	d, _ := disk(t)
	other, _ := disk(t)
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	q := begin(t, d, some(1))
	receive(t, q, c.pack("main"))
	try := func(d *gitrepo.Disk, repo gitrepo.ID, want bool) {
		t.Helper()
		if err := d.Admit(q, repo); (err == nil) != want {
			t.Errorf("admitted: %v", err)
		}
	}
	try(d, some(1), false)
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}}); err != nil {
		t.Fatal(err)
	}
	try(d, gitrepo.ID{}, false)
	try(other, some(1), false)
	try(d, some(1), true)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	try(d, some(1), false)
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}}); err == nil {
		t.Error("proven after its end")
	}
}
