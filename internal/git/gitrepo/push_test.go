package gitrepo_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

type ids = []gitwire.ObjectID

// What is pushed is in the repository when it is admitted, complete, and not before.
func TestAPushComesIn(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 20, gitwire.ObjectID{})
	all := c.all("main")
	q := begin(t, d, some(1))
	got := receive(t, q, c.pack("main"))
	if got.Objects != int64(len(all)) || got.Bytes == 0 || got.Bytes != q.Bytes() {
		t.Errorf("received %+v of %d objects, and %d bytes", got, len(all), q.Bytes())
	}
	proof, err := q.Prove(t.Context(), gitrepo.Proving{Commits: ids{tip}})
	if err != nil || proof.Objects != int64(len(all)) || proof.Bytes != got.Bytes || len(proof.Peeled) != 0 {
		t.Fatal(proof, err)
	}
	wantMissing(t, d, some(1), all, len(all))
	if _, err := os.Stat(pathOf(dir, some(1))); err == nil {
		t.Error("there is a directory before there is anything in it")
	}
	for range 2 {
		if err := d.Admit(q, some(1)); err != nil {
			t.Fatal(err)
		}
	}
	wantMissing(t, d, some(1), all, 0)
	if err := d.Project(some(1), 0, refsOf("refs/heads/main", "refs/heads/main", tip)); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil || q.Bytes() != 0 {
		t.Fatal(err, q.Bytes())
	}
	wantMissing(t, d, some(1), all, 0)
	if got := entries(t, pathOf(dir, some(1))); len(got) != 7 { // HEAD, packed-refs, refs, objects, objects/pack, pack and index
		t.Errorf("the repository has %q", got)
	}
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if out, err := gitIn(pathOf(dir, some(1)), nil, "fsck", "--full", "--strict"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	bytes, packs, err := d.Size(some(1))
	if err != nil || packs != 1 || bytes != proof.Bytes {
		t.Error(bytes, packs, err)
	}
}

// A push that builds on what is here sends what is new, and deltas against what is not.
func TestAThinPackIsCompleted(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	first := c.commit("main", 5, gitwire.ObjectID{})
	push(t, d, some(1), c.pack(first.String()), gitrepo.Proving{Tips: ids{first}})
	second := c.commit("main", 1, first)
	unknown := c.id("main^{tree}") // what the repository lacks is not regarded
	proof := push(t, d, some(1), c.pack(second.String(), "^"+first.String()), gitrepo.Proving{Tips: ids{second}, Haves: ids{first, unknown}})
	if proof.Objects < 4 || proof.Objects > 12 {
		t.Errorf("%d objects", proof.Objects)
	}
	wantMissing(t, d, some(1), c.all("main"), 0)
	if out, err := gitIn(pathOf(dir, some(1)), nil, "rev-list", "--objects", second.String()); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	_, packs, err := d.Size(some(1))
	if err != nil || packs != 2 {
		t.Error(packs, err)
	}
}

// Tips may be anything, branches are commits, and what tags are about is told.
func TestTipsOfEveryType(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	tip := c.commit("main", 2, gitwire.ObjectID{})
	blob, tree := c.id("main:common"), c.id("main^{tree}")
	tag := c.tag("v1", tip)
	ofTag, ofBlob, ofTree := c.tag("v2", tag), c.tag("v3", blob), c.tag("v4", tree)
	tips := ids{tag, ofTag, ofBlob, ofTree, blob, tree}
	q := begin(t, d, some(1))
	receive(t, q, c.pack(c.refs()...))
	for _, wrong := range tips {
		var refused *gitrepo.PackError
		if _, err := q.Prove(t.Context(), gitrepo.Proving{Commits: ids{wrong}}); !errors.As(err, &refused) || !strings.Contains(refused.Text, "must be a commit") {
			t.Errorf("%s for a commit: %v", wrong, err)
		}
		if d.Admit(q, some(1)) == nil {
			t.Error("admitted what is not proven")
		}
	}
	q = begin(t, d, some(1))
	receive(t, q, c.pack(c.refs()...))
	proof, err := q.Prove(t.Context(), gitrepo.Proving{Tips: tips, Commits: ids{tip}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[gitwire.ObjectID]gitwire.ObjectID{tag: tip, ofTag: tip, ofBlob: blob, ofTree: tree}
	if fmt.Sprint(proof.Peeled) != fmt.Sprint(want) {
		t.Errorf("peeled %v, want %v", proof.Peeled, want)
	}
}

// Nothing comes in that the tips do not need.
func TestWhatTipsDoNotNeedIsDropped(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	base := c.commit("main", 10, gitwire.ObjectID{})
	next := c.commit("main", 3, base)
	other := c.commit("other", 10, gitwire.ObjectID{})
	kept, dropped := c.all(next.String()), c.all("other", "^main")
	for name, haves := range map[string]ids{"into an empty one": nil, "beside what is here": {base}} {
		t.Run(name, func(t *testing.T) {
			d, _ := disk(t)
			if haves != nil {
				push(t, d, some(1), c.pack(base.String()), gitrepo.Proving{Tips: haves})
			}
			q := begin(t, d, some(1))
			got := receive(t, q, c.pack(c.refs()...))
			proof, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{next}, Haves: haves})
			if err == nil {
				err = d.Admit(q, some(1))
			}
			if err != nil {
				t.Fatal(err)
			}
			if proof.Objects >= got.Objects || proof.Bytes != q.Bytes() || proof.Bytes >= got.Bytes {
				t.Errorf("received %+v, kept %+v", got, proof)
			}
			wantMissing(t, d, some(1), kept, 0)
			wantMissing(t, d, some(1), dropped, len(dropped))
			_ = other
		})
	}
}

// What is in the repository already does not come in a second time, and needs no pack.
func TestNothingNewIsNoPack(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	tip := c.commit("main", 3, gitwire.ObjectID{})
	tag := c.tag("v1", tip)
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{tag, tip}})
	for name, pack := range map[string][]byte{"all again": c.pack(c.refs()...), "an empty pack": c.packOf(), "none": nil} {
		t.Run(name, func(t *testing.T) {
			q := begin(t, d, some(1))
			if pack != nil {
				receive(t, q, pack)
			}
			proof, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tag}, Commits: ids{tip}})
			if err != nil || proof.Objects != 0 || proof.Bytes != 0 || q.Bytes() != 0 || proof.Peeled[tag] != tip {
				t.Fatal(proof, err)
			}
			if err := d.Admit(q, some(1)); err != nil {
				t.Fatal(err)
			}
			if _, packs, err := d.Size(some(1)); packs != 1 || err != nil {
				t.Errorf("%d packs: %v", packs, err)
			}
		})
	}
}

// What is not complete is not proven, and the objects are named.
func TestWhatIsMissingIsNamed(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	first := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack(first.String()), gitrepo.Proving{Tips: ids{first}})
	second := c.commit("main", 2, first)
	lost := c.all(second.String(), "^"+first.String())[:2]

	q := begin(t, d, some(1))
	_, err := q.Prove(t.Context(), gitrepo.Proving{Tips: append(ids{first}, lost...)})
	var missing *gitrepo.MissingError
	if !errors.As(err, &missing) || !slices.Equal(missing.IDs, lost) || !strings.Contains(err.Error(), lost[1].String()) {
		t.Errorf("without a pack: %v", err)
	}
	if err := d.Admit(q, some(1)); err == nil {
		t.Error("admitted what is not proven")
	}
	many := make(ids, 12)
	for i := range many {
		many[i] = parse(t, fmt.Sprintf("%040x", i+1))
	}
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: many}); !errors.As(err, &missing) || !slices.Equal(missing.IDs, many[:10]) {
		t.Errorf("many: %v", err)
	}
	receive(t, q, c.pack(first.String()))
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{second, first}}); !errors.As(err, &missing) || !slices.Equal(missing.IDs, ids{second}) {
		t.Errorf("with another pack: %v", err)
	}
	// A pack whose objects lead to what is nowhere.
	for _, part := range []gitwire.ObjectID{c.id("main:common"), c.id("main^{tree}"), c.id("main^")} {
		q = begin(t, d, some(1))
		whole := c.all(second.String(), "^"+first.String())
		pack := c.packOf(slices.DeleteFunc(whole, func(id gitwire.ObjectID) bool { return id == part })...)
		if _, err = q.Receive(t.Context(), bytes.NewReader(pack), gitrepo.Receiving{}); err == nil { // git looks there already at times
			_, err = q.Prove(t.Context(), gitrepo.Proving{Tips: ids{second}, Haves: ids{first}})
		}
		if !errors.As(err, &missing) || !slices.Equal(missing.IDs, ids{part}) {
			t.Errorf("without %s: %v", part, err)
		}
	}
}
