package gitrepo_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// The files are as git writes them, whole, whatever was there before, and git reads what was meant.
func TestRefsAreAProjection(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 3, gitwire.ObjectID{})
	tag := c.tag("v1", tip)
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{tip, tag}})
	repo := pathOf(dir, some(1))
	refs := refsOf("refs/heads/main", "refs/heads/a", tip, "refs/heads/main", tip, "refs/tags/v1", tag)
	refs.List[2].Peeled = tip
	project := func(refs *gitwire.Refs, packed, head string) {
		t.Helper()
		if err := d.Project(some(1), 0, refs); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"packed-refs": packed, "HEAD": head} {
			if got, err := os.ReadFile(filepath.Join(repo, name)); err != nil || string(got) != want {
				t.Errorf("%s is %q, want %q (%v)", name, got, want, err)
			}
		}
		for _, name := range entries(t, repo) {
			if strings.HasPrefix(name, "refs/") || strings.Contains(name, "new") {
				t.Errorf("there is %s", name)
			}
		}
	}
	packed := "# pack-refs with: peeled fully-peeled sorted \n" + tip.String() + " refs/heads/a\n" + tip.String() + " refs/heads/main\n" +
		tag.String() + " refs/tags/v1\n^" + tip.String() + "\n"
	project(refs, packed, "ref: refs/heads/main\n")
	project(refs, packed, "ref: refs/heads/main\n")
	want := "refs/heads/a " + tip.String() + " \nrefs/heads/main " + tip.String() + " \nrefs/tags/v1 " + tag.String() + " " + tip.String() + "\n"
	if got, err := gitIn(repo, nil, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"); err != nil || string(got) != want {
		t.Errorf("git reads %q (%v)", got, err)
	}
	// A branch becomes the directory of another one, and HEAD goes.
	project(refsOf("", "refs/heads/a/b", tip, "refs/heads/main/x", tip),
		"# pack-refs with: peeled fully-peeled sorted \n"+tip.String()+" refs/heads/a/b\n"+tip.String()+" refs/heads/main/x\n", "ref: refs/heads/this-repository-has-no-HEAD\n")
	if got, err := gitIn(repo, nil, "for-each-ref", "--format=%(refname)"); err != nil || string(got) != "refs/heads/a/b\nrefs/heads/main/x\n" {
		t.Errorf("git reads %q (%v)", got, err)
	}
	if out, err := gitIn(repo, nil, "upload-pack", "--http-backend-info-refs", repo); err != nil || !bytes.Contains(out, []byte("refs/heads/a/b")) {
		t.Errorf("git shows %q (%v)", out, err)
	}
	project(refsOf("refs/heads/unborn"), "# pack-refs with: peeled fully-peeled sorted \n", "ref: refs/heads/unborn\n")
}

// TestTheGenerationOfRefs stands in packed-refs, which git reads as before; what nobody wrote so tells none.
func TestTheGenerationOfRefs(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 3, gitwire.ObjectID{})
	tag := c.tag("v1", tip)
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{tip, tag}})
	refs := refsOf("refs/heads/main", "refs/heads/main", tip, "refs/tags/v1", tag)
	refs.List[1].Peeled = tip
	file := filepath.Join(pathOf(dir, some(1)), "packed-refs")
	for _, generation := range []uint64{1, math.MaxUint64} {
		if err := d.Project(some(1), generation, refs); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Generation(some(1)); err != nil || got != generation {
			t.Errorf("generation %d (%v), not %d", got, err, generation)
		}
		want := "refs/heads/main " + tip.String() + " \nrefs/tags/v1 " + tag.String() + " " + tip.String() + "\n"
		if got, err := gitIn(pathOf(dir, some(1)), nil, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"); err != nil || string(got) != want {
			t.Errorf("git reads %q (%v)", got, err)
		}
		if found, err := d.Check(t.Context(), some(1), refs); err != nil || len(found.All()) > 0 {
			t.Errorf("%q (%v)", found.All(), err)
		}
	}
	const head = "# pack-refs with: peeled fully-peeled sorted "
	for text, want := range map[string]uint64{
		"": 0, head: 0, head + "\n": 0, head + "generation=12 \n": 12, head + "generation=12 \nmore": 12, head + "generation=12\n": 0, head + "generation=12 ": 0, head + "generation=0 \n": 0,
		head + "generation=012 \n": 0, head + "generation=x \n": 0, head + "generation=99999999999999999999 \n": 0, head + "generation=12 other \n": 0,
		"# pack-refs with: sorted generation=12 \n": 0, tip.String() + " refs/heads/main\n": 0,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Generation(some(1)); err != nil || got != want {
			t.Errorf("%q: generation %d (%v), not %d", text, got, err, want)
		}
	}
	if got, err := d.Generation(some(2)); err != nil || got != 0 {
		t.Errorf("generation %d of nothing (%v)", got, err)
	}
}

// TestAKillBetweenFilesOfRefs: where packed-refs tells the generation, HEAD is of it.
func TestAKillBetweenFilesOfRefs(t *testing.T) {
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	n := 0
	for ended := true; ended; n++ {
		d, dir := disk(t)
		push(t, d, some(1), c.pack("main"), gitrepo.Proving{Tips: ids{tip}})
		if err := d.Project(some(1), 1, refsOf("refs/heads/a", "refs/heads/a", tip)); err != nil {
			t.Fatal(err)
		}
		ended = until(t, d, n, func() error { return d.Project(some(1), 2, refsOf("refs/heads/b", "refs/heads/b", tip)) })
		d = openDisk(t, gitrepo.Config{Dir: dir})
		generation, err := d.Generation(some(1))
		packed, wrong := d.Refs(some(1))
		if err = errors.Join(err, wrong); err != nil {
			t.Fatal(err)
		}
		head, err := os.ReadFile(filepath.Join(pathOf(dir, some(1)), "HEAD"))
		if name := map[uint64]string{1: "refs/heads/a", 2: "refs/heads/b"}[generation]; err != nil || packed.List[0].Name != name || generation == 2 && string(head) != "ref: "+name+"\n" {
			t.Errorf("killed at %d: generation %d, %v, %q (%v)", n, generation, packed.List, head, err)
		}
		if !ended && (generation != 2 || n < 4) {
			t.Errorf("generation %d after %d changes", generation, n)
		}
	}
}

// What git would not take never becomes a file.
func TestRefsThatCannotBe(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Tips: ids{tip}})
	good := refsOf("refs/heads/main", "refs/heads/main", tip)
	if err := d.Project(some(1), 0, good); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(pathOf(dir, some(1)), "packed-refs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, refs := range map[string]*gitwire.Refs{
		"not in order": refsOf("", "refs/heads/b", tip, "refs/heads/a", tip),
		"twice":        refsOf("", "refs/heads/a", tip, "refs/heads/a", tip),
		"no value":     refsOf("", "refs/heads/a", gitwire.ObjectID{}),
		"two lines":    refsOf("", "refs/heads/a\n"+tip.String()+" refs/heads/b", tip),
		"no ref":       refsOf("", "HEAD", tip),
		"HEAD":         refsOf("refs/heads/a\nb", "refs/heads/a", tip),
	} {
		if err := d.Project(some(1), 0, refs); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if after, err := os.ReadFile(filepath.Join(pathOf(dir, some(1)), "packed-refs")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("now %q (%v)", after, err)
	}
	if err := d.Project(some(2), 0, good); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("without a repository: %v", err)
	}
	if err := d.Project(some(2), 0, &gitwire.Refs{Head: "refs/heads/main"}); err != nil {
		t.Errorf("no refs of no repository: %v", err)
	}
	if _, err := os.Stat(pathOf(dir, some(2))); err == nil {
		t.Error("there is a directory")
	}
}
