package gitrepo_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Whatever is wrong with a pack is told in words, and nothing is left of it.
func TestWhatIsWrongWithAPack(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	first := c.commit("main", 3, gitwire.ObjectID{})
	second := c.commit("main", 3, first)
	good := c.pack("main")
	thin := c.pack(second.String(), "^"+first.String())
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	claim := bytes.Clone(good)
	binary.BigEndian.PutUint32(claim[8:], 2_000_000)
	bad := c.git([]byte("100644 blob "+c.id("main:common").String()+"\t.git\n"), "mktree")
	dotgit := c.packOf(parse(t, bad), c.id("main:common"))

	for name, test := range map[string]struct {
		pack    []byte
		bounds  gitrepo.Receiving
		text    string
		check   string
		byLimit bool
	}{
		"nothing":             {text: "cut off"},
		"no pack":             {pack: []byte("GET / HTTP/1.1\r\n\r\n"), text: "no pack"},
		"another version":     {pack: append([]byte("PACK\x00\x00\x00\x09"), good[8:]...), text: "damaged"},
		"the head alone":      {pack: good[:12], text: "cut off"},
		"cut":                 {pack: good[:len(good)-30], text: "cut off"},
		"without its end":     {pack: good[:len(good)-20], text: "cut off"},
		"a bit flipped":       {pack: flipped, text: "damaged"},
		"bytes behind it":     {pack: append(bytes.Clone(good), "0000"...), text: "follows"},
		"nothing to build on": {pack: thin, text: "--no-thin"},
		"more bytes":          {pack: good, bounds: gitrepo.Receiving{MaxBytes: int64(len(good)) - 1}, text: "larger than", byLimit: true},
		"more objects":        {pack: good, bounds: gitrepo.Receiving{MaxObjects: 5}, text: "one push may have 5", byLimit: true},
		"a claim":             {pack: claim, text: "2000000 objects", byLimit: true},
		"a name":              {pack: dotgit, text: "contains '.git'", check: "hasDotgit"},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := d.Begin(gitrepo.ID{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = q.Receive(t.Context(), bytes.NewReader(test.pack), test.bounds)
			var refused *gitrepo.PackError
			if !errors.As(err, &refused) {
				t.Fatalf("not told in words: %v", err)
			}
			if !strings.Contains(refused.Text, test.text) || refused.Check != test.check || refused.ByLimit != test.byLimit {
				t.Errorf("%+v", refused)
			}
			if strings.Contains(refused.Text, dir) || strings.Contains(refused.Text, "\n") {
				t.Errorf("not for strangers: %q", refused.Text)
			}
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
			if left := entries(t, filepath.Join(dir, "incoming")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// A pack that takes too much to unpack ends git, and not the machine.
func TestAPackThatTakesTooMuch(t *testing.T) {
	git, err := gitproc.Open(t.Context(), gitproc.Config{Limits: gitproc.Limits{Memory: 16 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: git})
	c := newClone(t)
	pack := c.packOf(parse(t, c.git(make([]byte, 15<<20), "hash-object", "-w", "--stdin")))
	_, err = begin(t, d, gitrepo.ID{}).Receive(t.Context(), bytes.NewReader(pack), gitrepo.Receiving{})
	var refused *gitrepo.PackError
	if !errors.As(err, &refused) || !refused.ByLimit || !gitrepo.Costly(err) || !strings.Contains(refused.Text, "ran out of memory") {
		t.Errorf("%d bytes: %v", len(pack), err)
	}
}

// A pack grows as it is told, and whoever is told may end it.
func TestAPackIsCountedAsItComes(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	noise := make([]byte, 3<<20)
	_, _ = rand.Read(noise)
	blob := parse(t, c.git(noise, "hash-object", "-w", "--stdin"))
	pack := c.packOf(blob)
	q := begin(t, d, gitrepo.ID{})
	var told []int64
	got, err := q.Receive(t.Context(), bytes.NewReader(pack), gitrepo.Receiving{Grown: func(bytes int64) error {
		told = append(told, bytes)
		if q.Bytes() != bytes {
			t.Errorf("it has %d bytes, and says %d", bytes, q.Bytes())
		}
		return nil
	}})
	if err != nil || got.Objects != 1 || len(told) < 4 || told[len(told)-1] != int64(len(pack)) {
		t.Fatal(got, err, told)
	}
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) != 7 { // a skeleton, a pack and an index
		t.Errorf("left: %q", left)
	}
	full := errors.New("too much of this address")
	q = begin(t, d, gitrepo.ID{})
	_, err = q.Receive(t.Context(), bytes.NewReader(pack), gitrepo.Receiving{Grown: func(bytes int64) error {
		if bytes > 2<<20 {
			return full
		}
		return nil
	}})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

// Whoever sends more than they may is not read on.
func TestNobodyReadsWhatIsTooMuch(t *testing.T) {
	d, dir := disk(t)
	rest := bytes.NewReader(make([]byte, 16<<20))
	in := io.MultiReader(strings.NewReader("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), rest)
	q := begin(t, d, gitrepo.ID{})
	_, err := q.Receive(t.Context(), in, gitrepo.Receiving{MaxBytes: 2 << 20})
	var refused *gitrepo.PackError
	if !errors.As(err, &refused) || !refused.ByLimit || gitrepo.Costly(err) || !strings.Contains(refused.Text, "2 MiB") {
		t.Error(err)
	}
	if left := rest.Len(); left < 13<<20 {
		t.Errorf("all but %d bytes were read", left)
	}
	if got := entries(t, filepath.Join(dir, "incoming")); slices.ContainsFunc(got, func(name string) bool { return strings.HasSuffix(name, "spool") }) {
		t.Errorf("left: %q", got)
	}
}

// A transfer that breaks, or whose context ends, is told from a bad pack.
func TestATransferThatBreaks(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	c.commit("main", 3, gitwire.ObjectID{})
	pack := c.pack("main")
	broken := errors.New("the connection broke")
	ctx, end := context.WithCancelCause(t.Context())
	for name, in := range map[string]io.Reader{
		"breaks": failing(pack[:100], broken),
		"ends":   io.MultiReader(bytes.NewReader(pack[:100]), ender(func() { end(broken) }), bytes.NewReader(pack[100:])),
	} {
		var refused *gitrepo.PackError
		_, err := begin(t, d, gitrepo.ID{}).Receive(ctx, in, gitrepo.Receiving{})
		if !errors.Is(err, broken) || errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type ender func()

func (e ender) Read([]byte) (int, error) { e(); return 0, io.EOF }

// What a crash left of quarantines goes at the start, and repositories stay.
func TestOpenDropsQuarantines(t *testing.T) {
	dir := tempDir(t)
	d := openDisk(t, gitrepo.Config{Dir: dir})
	c := newClone(t)
	tip := c.commit("main", 3, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Tips: ids{tip}})
	left, err := d.Begin(some(1))
	if err != nil {
		t.Fatal(err)
	}
	receive(t, left, c.pack("main"))
	d = openDisk(t, gitrepo.Config{Dir: dir})
	if got := entries(t, filepath.Join(dir, "incoming")); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	wantMissing(t, d, some(1), c.all("main"), 0)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gitrepo.Open(gitrepo.Config{Dir: filepath.Join(dir, "file")}); err == nil {
		t.Error("a file was opened as a directory")
	}
}
