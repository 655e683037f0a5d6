package gitrepo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/gitrepo"
	"github.com/graspd/graspd/internal/gitwire"
)

// submodule makes a commit with a tree that has a commit of another repository in it, a file, a link and a directory.
func (c *clone) submodule(parent gitwire.ObjectID) gitwire.ObjectID {
	c.t.Helper()
	blob := c.git([]byte(lorem), "hash-object", "-w", "--stdin")
	inner := c.git(fmt.Appendf(nil, "100755 blob %s\tx\n120000 blob %s\ty\n", blob, blob), "mktree")
	tree := c.git(fmt.Appendf(nil, "160000 commit %s\tsub\n040000 tree %s\tdir\n100644 blob %s\tfile\n", strings.Repeat("1", 40), inner, blob), "mktree")
	return parse(c.t, c.git(nil, "commit-tree", "-m", "a submodule", "-p", parent.String(), "-p", parent.String()+"^", tree))
}

// The walk through a small pack finds what git finds, whatever the pack has too much or builds on.
func TestAWalkFindsWhatGitFinds(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	base := c.commit("main", 20, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{base}})
	tip := c.commit("tip", 30, base)
	side := c.commit("side", 3, gitwire.ObjectID{})
	sub := c.submodule(tip)
	tag := c.tag("v1", tip)
	outer := c.tag("outer", tag)
	tree, blob := c.id(tip.String()+"^{tree}"), c.id(tip.String()+":common")
	treeTag, blobTag := c.tag("tree", tree), c.tag("blob", blob)
	everything := c.pack("tip", "side", "outer", sub.String(), "tree", "blob")
	for name, tc := range map[string]struct {
		pack []byte
		p    gitrepo.Proving
	}{
		"a thin pack upon what is there":         {c.pack("tip", "^main"), gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}},
		"with all that is there already":         {c.pack("tip"), gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}},
		"though nobody says what is there":       {c.pack("tip"), gitrepo.Proving{Commits: ids{tip}}},
		"with what nothing leads to":             {everything, gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}},
		"a history of its own":                   {everything, gitrepo.Proving{Commits: ids{side}, Haves: ids{base}}},
		"merges, modes and a submodule":          {everything, gitrepo.Proving{Commits: ids{sub}, Haves: ids{base}}},
		"a tag":                                  {everything, gitrepo.Proving{Tips: ids{tag}}},
		"a tag of a tag":                         {everything, gitrepo.Proving{Tips: ids{outer, tag}, Commits: ids{tip}}},
		"tags of a tree and a blob, and a blob":  {everything, gitrepo.Proving{Tips: ids{treeTag, blobTag, blob}}},
		"what is there already, pushed again":    {c.pack("main"), gitrepo.Proving{Commits: ids{base}}},
		"a branch that is a tree":                {everything, gitrepo.Proving{Commits: ids{tree}}},
		"a branch that is a tag":                 {everything, gitrepo.Proving{Commits: ids{tag}}},
		"a whole pack without deltas by offset":  {c.raw([]byte("tip\n"), "pack-objects", "--revs", "--stdout", "-q"), gitrepo.Proving{Commits: ids{tip}}},
		"a whole pack without any deltas at all": {c.raw([]byte("tip\n"), "pack-objects", "--revs", "--stdout", "-q", "--window=0"), gitrepo.Proving{Commits: ids{tip}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := begin(t, d, some(1))
			receive(t, q, tc.pack)
			got, peeled, ok, err := gitrepo.Walked(q, tc.p)
			if !ok {
				t.Fatal("it was not walked", err)
			}
			want, wantPeeled, wantErr := gitrepo.ByGit(t.Context(), q, tc.p)
			if (err == nil) != (wantErr == nil) || err != nil && !strings.HasSuffix(wantErr.Error(), err.Error()) {
				t.Fatalf("%v, and git says %v", err, wantErr)
			}
			if err == nil && (!slices.Equal(got, want) || !maps.Equal(peeled, wantPeeled)) {
				t.Errorf("%d objects and %v, and git finds %d and %v", len(got), peeled, len(want), wantPeeled)
			}
		})
	}
}

// What is not walked here git walks through: packs that are large or have many objects, and tips that are not in them.
func TestWhatGitWalksThrough(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	base := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{base}})
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	file := tempDir(t) + "/noise"
	if err := os.WriteFile(file, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	blob := c.git(nil, "hash-object", "-w", file)
	tree := c.git(fmt.Appendf(nil, "100644 blob %s\tnoise\n", blob), "mktree")
	large := parse(t, c.git(nil, "commit-tree", "-m", "large", tree))
	var files strings.Builder
	files.WriteString("feature done\ncommit refs/heads/many\ncommitter a <a@example.com> 1 +0000\ndata 0\n\n")
	for i := range 4100 {
		fmt.Fprintf(&files, "M 644 inline %d\ndata %d\n%d\n", i, len(fmt.Sprint(i)), i)
	}
	c.git([]byte(files.String()+"done\n"), "fast-import", "--quiet")
	many := c.id("many")
	tip := c.commit("tip", 1, base)
	for name, tc := range map[string]struct {
		pack []byte
		tips ids
	}{
		"large":                   {c.pack(large.String()), ids{large}},
		"many":                    {c.pack("many"), ids{many}},
		"a tip that is not there": {c.pack("tip", "^main"), ids{tip, base}},
	} {
		q := begin(t, d, some(1))
		receive(t, q, tc.pack)
		if proof, err := q.Prove(t.Context(), gitrepo.Proving{Commits: tc.tips, Haves: ids{base}}); err != nil || proof.Objects == 0 {
			t.Errorf("%s: %+v, %v", name, proof, err)
		}
		if _, _, ok, err := gitrepo.Walked(q, gitrepo.Proving{Commits: tc.tips}); ok && name != "a tip that is not there" || err != nil {
			t.Errorf("%s: walked: %v, %v", name, ok, err)
		}
	}
}

// Whatever stands in a pack, a walk through it ends and takes no more memory than it may.
func TestDamagedPacksAreWalked(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	c.commit("main", 12, gitwire.ObjectID{})
	q := begin(t, d, some(1))
	receive(t, q, c.pack("main"))
	raw, sums, places, err := gitrepo.PackOf(q)
	if err != nil {
		t.Fatal(err)
	}
	if n := gitrepo.WalkPack(raw, sums, places); n != len(sums) {
		t.Errorf("%d of %d objects are read", n, len(sums))
	}
	chance := rand.New(rand.NewPCG(1, 2))
	whole := 0
	for range 500 {
		b, at := slices.Clone(raw), slices.Clone(places)
		for range 1 + chance.IntN(6) {
			b[chance.IntN(len(b))] = byte(chance.IntN(256))
			if chance.IntN(4) == 0 {
				at[chance.IntN(len(at))] = uint32(chance.IntN(len(b) + 10))
			}
			if chance.IntN(8) == 0 {
				b = b[:chance.IntN(len(b))+1]
			}
		}
		if gitrepo.WalkPack(b, sums, at) == len(sums) {
			whole++
		}
	}
	if whole > 250 {
		t.Errorf("%d of 500 damaged packs were read whole", whole)
	}
}

// A base that claims to make much of little is not unpacked.
func TestAPackThatSwellsIsNotUnpacked(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	line := strings.Repeat("x", 63) + "\n"
	tag := fmt.Sprintf("object %s\ntype blob\ntag v\ntagger a <a@example.com> 1 +0000\n\n%s", c.git(nil, "hash-object", "-w", "/dev/null"), strings.Repeat(line, 300_000))
	id := parse(t, c.git([]byte(tag), "hash-object", "-w", "-t", "tag", "--stdin"))
	q := begin(t, d, some(1))
	receive(t, q, c.pack(id.String()))
	if _, _, ok, err := gitrepo.Walked(q, gitrepo.Proving{Tips: ids{id}}); ok || err != nil {
		t.Errorf("walked: %v, %v", ok, err)
	}
	if proof, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{id}}); err != nil || len(proof.Peeled) != 1 {
		t.Errorf("%+v, %v", proof, err)
	}
}

// What a walk ends at is looked for when it ends there, whatever was there when the pack came.
func TestAWalkEndsAtWhatIsThere(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	base := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{base}})
	tip := c.commit("tip", 1, base)
	q := begin(t, d, some(1))
	receive(t, q, c.pack("tip", "^main"))
	if err := d.Remove(some(1)); err != nil {
		t.Fatal(err)
	}
	if proof, err := q.Prove(t.Context(), gitrepo.Proving{Commits: ids{tip}}); err == nil {
		t.Errorf("proven without its base: %+v", proof)
	}
}

// TestHavesThatAreNotHereArePassedOver: also where git walks, as one of the tips is here already.
func TestHavesThatAreNotHereArePassedOver(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	first := many(t, d, c, "main", 1)[0]
	second, nowhere := c.commit("main", 1, first), c.commit("other", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack(second.String(), "^"+first.String()), gitrepo.Proving{Commits: ids{second, first}, Haves: ids{nowhere, first}})
	wantMissing(t, d, some(1), ids{first, second}, 0)
}
