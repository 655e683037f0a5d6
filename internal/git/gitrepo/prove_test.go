package gitrepo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// submodule makes a commit with a tree that has a commit of another repository in it, a file, a link and a directory.
func (c *clone) submodule(parent gitwire.ObjectID) gitwire.ObjectID {
	c.t.Helper()
	blob := c.git([]byte(lorem), "hash-object", "-w", "--stdin")
	inner := c.git(fmt.Appendf(nil, "100755 blob %s\tx\n120000 blob %s\ty\n", blob, blob), "mktree")
	tree := c.git(fmt.Appendf(nil, "160000 commit %s\tsub\n040000 tree %s\tdir\n100644 blob %s\tfile\n", strings.Repeat("1", 40), inner, blob), "mktree")
	return parse(c.t, c.git(nil, "commit-tree", "-m", "a submodule", "-p", parent.String(), "-p", parent.String()+"^", tree))
}

// TestAProofKeepsWhatTipsNeed: no more, whatever the pack has too much or builds on.
func TestAProofKeepsWhatTipsNeed(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	base := c.commit("main", 20, gitwire.ObjectID{})
	tip := c.commit("tip", 30, base)
	side := c.commit("side", 3, gitwire.ObjectID{})
	sub := c.submodule(tip)
	tag := c.tag("v1", tip)
	outer := c.tag("outer", tag)
	tree, blob := c.id(tip.String()+"^{tree}"), c.id(tip.String()+":common")
	treeTag, blobTag := c.tag("tree", tree), c.tag("blob", blob)
	there := c.id(base.String() + ":common")
	everything := c.pack("tip", "side", "outer", sub.String(), "tree", "blob")
	for name, tc := range map[string]struct {
		pack  []byte
		p     gitrepo.Proving
		fails string
	}{
		"a thin pack upon what is there":         {c.pack("tip", "^main"), gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}, ""},
		"with all that is there already":         {c.pack("tip"), gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}, ""},
		"though nobody says what is there":       {c.pack("tip"), gitrepo.Proving{Commits: ids{tip}}, ""},
		"with what nothing leads to":             {everything, gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}}, ""},
		"a history of its own":                   {everything, gitrepo.Proving{Commits: ids{side}, Haves: ids{base}}, ""},
		"merges, modes and a submodule":          {everything, gitrepo.Proving{Commits: ids{sub}, Haves: ids{base}}, ""},
		"a tag":                                  {everything, gitrepo.Proving{Tips: ids{tag}}, ""},
		"a tag of a tag":                         {everything, gitrepo.Proving{Tips: ids{outer, tag}, Commits: ids{tip}}, ""},
		"tags of a tree and a blob, and a blob":  {everything, gitrepo.Proving{Tips: ids{treeTag, blobTag, blob}}, ""},
		"what is there already, pushed again":    {c.pack("main"), gitrepo.Proving{Commits: ids{base}}, ""},
		"a branch that is a tree":                {everything, gitrepo.Proving{Commits: ids{tree}}, "is a tree, and"},
		"a branch that is a tag":                 {everything, gitrepo.Proving{Commits: ids{tag}}, "is a tag, and"},
		"a branch at what is there already":      {c.pack("tip"), gitrepo.Proving{Commits: ids{tip, base}, Haves: ids{base}}, ""},
		"a branch at a blob that is there":       {c.pack("tip"), gitrepo.Proving{Commits: ids{tip, there}, Haves: ids{base}}, "is a blob, and"},
		"a tag in the place of a branch, too":    {everything, gitrepo.Proving{Tips: ids{tag}, Commits: ids{tag}}, "is a tag, and"},
		"a whole pack without deltas by offset":  {c.raw([]byte("tip\n"), "pack-objects", "--revs", "--stdout", "-q"), gitrepo.Proving{Commits: ids{tip}}, ""},
		"a whole pack without any deltas at all": {c.raw([]byte("tip\n"), "pack-objects", "--revs", "--stdout", "-q", "--window=0"), gitrepo.Proving{Commits: ids{tip}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := disk(t)
			push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{base}})
			q := begin(t, d, some(1))
			receive(t, q, tc.pack)
			proof, err := q.Prove(t.Context(), tc.p)
			if tc.fails != "" {
				var refused *gitrepo.PackError
				if !errors.As(err, &refused) || !strings.Contains(refused.Text, tc.fails) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			peeled := map[gitwire.ObjectID]gitwire.ObjectID{}
			var expressions []string
			for _, tip := range tc.p.Tips {
				if end := c.id(tip.String() + "^{}"); end != tip {
					peeled[tip] = end
				}
			}
			for _, tip := range slices.Concat(tc.p.Tips, tc.p.Commits) {
				expressions = append(expressions, tip.String())
			}
			if err := d.Admit(q, some(1)); err != nil || !maps.Equal(proof.Peeled, peeled) {
				t.Errorf("%v, %v, not %v", err, proof.Peeled, peeled)
			}
			wanted := map[gitwire.ObjectID]bool{}
			for _, id := range c.all(append(expressions, "main")...) {
				wanted[id] = true
			}
			others := slices.DeleteFunc(c.all(append(c.refs(), sub.String())...), func(id gitwire.ObjectID) bool { return wanted[id] })
			wantMissing(t, d, some(1), slices.Collect(maps.Keys(wanted)), 0)
			wantMissing(t, d, some(1), others, len(others))
		})
	}
}

// TestTagsAreFollowedOnce: however many tips lead to a tag, and by however many others, git is asked about an object twice at most, in few rounds.
func TestTagsAreFollowedOnce(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n, commits, far := 1+chance.IntN(300), 1+chance.IntN(3), 1+chance.IntN(100)
		objects := make(ids, n)
		at, to := map[gitwire.ObjectID]int{}, make([]int, n)
		for i := range objects {
			objects[i] = gitwire.ObjectIDOf([20]byte{1, byte(i), byte(i >> 8)})
			at[objects[i]] = i
			if to[i] = -1; i >= commits {
				to[i] = i - 1 - chance.IntN(min(i, far))
			}
		}
		var tips ids
		for range 1 + chance.IntN(2*n) {
			tips = append(tips, objects[chance.IntN(n)])
		}
		questions, rounds, peeled, err := gitrepo.Described(tips, func(id string) (string, []byte) {
			if i := to[at[parse(t, id)]]; i >= 0 {
				return "tag", fmt.Appendf(nil, "object %s\ntype tag\n", objects[i])
			}
			return "commit", nil
		})
		if questions > 2*n || rounds > 17 {
			t.Fatalf("%d questions in %d rounds about %d objects", questions, rounds, n)
		}
		deep := false
		want := map[gitwire.ObjectID]gitwire.ObjectID{}
		for _, tip := range tips {
			above, i := 0, at[tip]
			for ; to[i] >= 0; i = to[i] {
				above++
			}
			if deep = deep || above > 8; above > 0 {
				want[tip] = objects[i]
			}
		}
		var refused *gitrepo.PackError
		if deep != errors.As(err, &refused) || !deep && (err != nil || !maps.Equal(peeled, want)) {
			t.Fatalf("%v, %v; too deep is %v", peeled, err, deep)
		}
	}
}

// TestAPushTakesTwoProcesses: one for the pack and one for the proof, if its tips are commits, and one more if they are tags.
func TestAPushTakesTwoProcesses(t *testing.T) {
	g, err := gitproc.Open(t.Context(), gitproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: g})
	c := newClone(t)
	first := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Commits: ids{first}})
	ended := g.Stats(gitproc.Upload).Ended
	next := c.commit("main", 1, first)
	push(t, d, some(1), c.pack("main", "^"+first.String()), gitrepo.Proving{Commits: ids{next}, Haves: ids{first}})
	tag := c.tag("v1", next)
	push(t, d, some(1), c.pack("v1", "^main"), gitrepo.Proving{Tips: ids{tag}, Haves: ids{next}})
	if n := g.Stats(gitproc.Upload).Ended - ended; ended != 2 || n != 2+3 {
		t.Errorf("%d and %d processes", ended, n)
	}
}

// TestAProofEndsAtWhatIsThere: what a history builds on is looked for in the proof, whatever was there when the pack came.
func TestAProofEndsAtWhatIsThere(t *testing.T) {
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

// TestHavesThatAreNotHereArePassedOver: also where one of the tips is here already.
func TestHavesThatAreNotHereArePassedOver(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	first := many(t, d, c, "main", 1)[0]
	second, nowhere := c.commit("main", 1, first), c.commit("other", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack(second.String(), "^"+first.String()), gitrepo.Proving{Commits: ids{second, first}, Haves: ids{nowhere, first}})
	wantMissing(t, d, some(1), ids{first, second}, 0)
}

// Who pushes many refs leaves the slot that is kept for who has little.
func TestManyTipsAreLongWork(t *testing.T) {
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	d, _ := disk(t)
	for tips, long := range map[int]bool{64: false, 65: true} {
		q := begin(t, d, gitrepo.ID{})
		receive(t, q, c.pack("main"))
		if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}, Commits: slices.Repeat(ids{tip}, tips-1)}); err != nil || gitrepo.IsLong(q) != long {
			t.Errorf("%d tips: long is %v, %v", tips, gitrepo.IsLong(q), err)
		}
	}
}
