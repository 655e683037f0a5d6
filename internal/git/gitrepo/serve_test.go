package gitrepo_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// served is a repository with a history, and whose it was.
func served(t *testing.T) (*gitrepo.Disk, *clone, gitwire.ObjectID, gitwire.ObjectID) {
	t.Helper()
	d, _ := disk(t)
	c := newClone(t)
	first := c.commit("main", 5, gitwire.ObjectID{})
	tip := c.commit("main", 5, first)
	tag := c.tag("v1", tip)
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{tip, tag}})
	refs := refsOf("refs/heads/main", "refs/heads/main", tip, "refs/tags/v1", tag)
	refs.List[1].Peeled = tip
	if err := d.Project(some(1), 0, refs); err != nil {
		t.Fatal(err)
	}
	return d, c, first, tip
}

// unpacked is what somebody has who gets a pack and has what these expressions lead to.
func unpacked(t *testing.T, c *clone, pack []byte) ids {
	t.Helper()
	to := newClone(t)
	to.git(pack, "index-pack", "--stdin", "--fix-thin")
	return to.ids(to.git(nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
}

// A clone gets all that the tips lead to, and of that what its filter lets through.
func TestPacksForClones(t *testing.T) {
	d, c, _, tip := served(t)
	for filter, n := range map[gitwire.Filter]int{
		{}:                             len(c.all("main")),
		{Kind: gitwire.FilterTreeZero}: 10,
		{Kind: gitwire.FilterBlobNone}: 30,
	} {
		var out bytes.Buffer
		if err := d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{tip}, OfsDelta: true, Filter: filter}, "somebody", &out); err != nil {
			t.Fatal(err)
		}
		if got := unpacked(t, c, out.Bytes()); len(got) != n {
			t.Errorf("filter %q: %d objects, want %d", filter, len(got), n)
		}
	}
	var out bytes.Buffer
	if err := d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{tip}, IncludeTag: true}, "", &out); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, c, out.Bytes()); !slices.Contains(got, c.id("v1")) {
		t.Error("the tag is not included")
	}
	if err := d.Pack(t.Context(), some(2), &gitwire.Fetch{Wants: ids{tip}}, "", &out); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("of nothing: %v", err)
	}
}

// Whoever has a part gets the rest.
func TestUploadToThoseWhoHaveAPart(t *testing.T) {
	d, c, first, tip := served(t)
	q := gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: ids{tip}, Haves: ids{first}, Done: true, NoProgress: true}}
	var out bytes.Buffer
	if err := d.Upload(t.Context(), some(1), q, "somebody", &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), []byte("000dpackfile\n")) || !bytes.HasSuffix(out.Bytes(), []byte("0000")) || out.Len() < 500 {
		t.Fatalf("%q", out.Bytes())
	}
	at := bytes.Index(out.Bytes(), []byte("PACK"))
	if n := len(c.all("main", "^"+first.String())); at < 0 || int(out.Bytes()[at+11]) != n {
		t.Errorf("%d objects, want %d", out.Bytes()[at+11], n)
	}
	if err := d.Upload(t.Context(), some(1), gitwire.Request{}, "", &out); err == nil {
		t.Error("no fetch was answered")
	}
}

// Sizes are told in order, of what is here.
func TestSizes(t *testing.T) {
	d, c, _, tip := served(t)
	blob := c.id("main:main/0")
	none := parse(t, "00000000000000000000000000000000000000aa")
	got, err := d.Sizes(t.Context(), some(1), ids{none, blob, tip, blob}, "somebody")
	size := int64(len(c.raw(nil, "cat-file", "blob", blob.String())))
	commit := int64(len(c.raw(nil, "cat-file", "commit", tip.String())))
	if err != nil || !slices.Equal(got, []int64{-1, size, commit, size}) {
		t.Error(got, err)
	}
	if _, err := d.Sizes(t.Context(), some(2), ids{blob}, ""); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("of nothing: %v", err)
	}
}

// No placeholder of export-subst is replaced, as some have git run gpg. What is not to be exported is left out.
func TestArchive(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	c.git([]byte("commit refs/heads/main\nmark :1\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\n."+
		"\nM 644 inline .gitattributes\ndata 65\n*.txt export-subst\nsub/*.txt export-subst\n*.secret export-ignore\n\nM 644 inline a.txt\ndata 22\n$Format:%H%G?$ as it i\nM 644 inline sub/b.txt\ndata 12\n$Format:%H$\n\nM 644 inline x.secret\ndata 1\nx\n"), "fast-import", "--quiet")
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{c.id("main")}})
	var out bytes.Buffer
	if err := d.Archive(t.Context(), some(1), c.id("main"), "../a b-v1", "somebody", &out); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		text, err2 := io.ReadAll(r)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if h.Typeflag == tar.TypeReg {
			got[h.Name] = string(text)
			if h.ModTime.Unix() != 1_700_000_000 {
				t.Errorf("%s is of %s", h.Name, h.ModTime)
			}
		}
	}
	if len(got) != 3 || got["a-b-v1/a.txt"] != "$Format:%H%G?$ as it i" || got["a-b-v1/sub/b.txt"] != "$Format:%H$\n" {
		t.Errorf("got %q", got)
	}
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
