package gitrepo_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// damaged is a repository of two packs, of which the second builds on the first, and its refs.
type damaged struct {
	*clone
	dir           string // of the disk
	repo          string
	first, second gitwire.ObjectID
	refs          *gitwire.Refs
}

func newDamaged(t *testing.T) damaged {
	t.Helper()
	d, dir := disk(t)
	c := newClone(t)
	x := damaged{clone: c, dir: dir, repo: pathOf(dir, some(1))}
	x.first = c.commit("main", 2, gitwire.ObjectID{})
	x.second = c.commit("main", 2, x.first)
	x.refs = refsOf("refs/heads/main", "refs/heads/main", x.second, "refs/nostr/x", x.first)
	push(t, d, some(1), c.pack(x.first.String()), gitrepo.Proving{Tips: ids{x.first}})
	push(t, d, some(1), c.packOf(c.all(x.second.String(), "^"+x.first.String())...), gitrepo.Proving{Tips: ids{x.second}, Haves: ids{x.first}})
	if err := errors.Join(d.Project(some(1), 0, x.refs), os.Mkdir(filepath.Join(dir, "incoming", "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x damaged) remove(names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, os.RemoveAll(filepath.Join(x.repo, name)))
	}
	return errors.Join(errs...)
}

func (x damaged) write(name, text string) error {
	return os.WriteFile(filepath.Join(x.repo, name), []byte(text), 0o600)
}

// pack is the pack with an object, from the repository.
func (x damaged) pack(id gitwire.ObjectID) string {
	rel, err := filepath.Rel(x.repo, packWith(x.t.(*testing.T), x.repo, id))
	if err != nil {
		x.t.Fatal(err)
	}
	return rel
}

// edit changes the bytes of a file.
func (x damaged) edit(name string, change func([]byte) []byte) error {
	name = filepath.Join(x.repo, name)
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(name), os.WriteFile(name, change(b), 0o600))
}

func half(b []byte) []byte { return b[:len(b)/2] }

func flipped(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b = bytes.Clone(b)
		b[(at+len(b))%len(b)] ^= 1
		return b
	}
}

// Whatever is otherwise than the log says, damaged or incomplete is found without a change, and mended as far as it can be.
func TestDamageIsFoundAndMended(t *testing.T) {
	t.Parallel()
	const none, all, tip = 0, 2, 1 // how many of two groups, of the first commit and of the second, are whole afterwards
	for name, test := range map[string]struct {
		harm func(x damaged) error
		want string
		left int
	}{
		"nothing":        {func(damaged) error { return nil }, "", all},
		"other refs":     {func(x damaged) error { return x.write("packed-refs", "") }, "packed-refs is not what", all},
		"no refs":        {func(x damaged) error { return x.remove("packed-refs") }, "packed-refs is not there", all},
		"another HEAD":   {func(x damaged) error { return x.write("HEAD", "ref: refs/heads/x\n") }, "HEAD is not what", all},
		"no HEAD":        {func(x damaged) error { return x.remove("HEAD") }, "HEAD is not there", all},
		"no skeleton":    {func(x damaged) error { return x.remove("refs", "HEAD") }, "refs is not there", all},
		"a setting":      {func(x damaged) error { return x.write("config", "") }, `"config"`, all},
		"an alternate":   {func(x damaged) error { return os.Mkdir(filepath.Join(x.repo, "objects/info"), 0o700) }, `"objects/info"`, all},
		"a loose ref":    {func(x damaged) error { return os.MkdirAll(filepath.Join(x.repo, "refs/heads/a"), 0o700) }, `"refs/heads"`, all},
		"a strange file": {func(x damaged) error { return x.write("objects/pack/pack-x.keep", "") }, `"objects/pack/pack-x.keep"`, all},
		"a damaged bitmap": {func(x damaged) error { return x.write("objects/pack/pack-x.bitmap", strings.Repeat("x", 99)) },
			"pack-x.bitmap is damaged", all},
		"a bitmap that is cut off": {func(x damaged) error { return x.write("objects/pack/pack-x.bitmap", "x") }, "pack-x.bitmap is damaged", all},
		"old packs": {func(x damaged) error {
			return errors.Join(x.write("gone", "pack-x\n"), x.write("objects/pack/pack-x.pack", "x"), x.write("objects/pack/pack-x.idx", "x"))
		}, "", all},
		"a damaged index of packs": {func(x damaged) error { return x.write("objects/pack/multi-pack-index", strings.Repeat("x", 99)) },
			"multi-pack-index is damaged", all},
		"what a kill leaves": {func(x damaged) error {
			return errors.Join(x.write("packed-refs.new", "x"), x.write("HEAD.new", "x"), x.write("objects/pack/pack-x.pack", "x"))
		}, "", all},
		"a lost tip":  {func(x damaged) error { return x.remove(x.pack(x.second)+".pack", x.pack(x.second)+".idx") }, "is missing", tip},
		"a lost base": {func(x damaged) error { return x.remove(x.pack(x.first)+".pack", x.pack(x.first)+".idx") }, "is missing", none},
		"a lost base that no ref names": {func(x damaged) error {
			x.refs.List = x.refs.List[:1]
			return x.remove(x.pack(x.first)+".pack", x.pack(x.first)+".idx")
		}, "what refs lead to is not all there", none},
		"no pack":       {func(x damaged) error { return x.remove(x.pack(x.second) + ".pack") }, "is damaged or not there", tip},
		"a cut pack":    {func(x damaged) error { return x.edit(x.pack(x.second)+".pack", half) }, "is damaged or not there", tip},
		"a flipped bit": {func(x damaged) error { return x.edit(x.pack(x.first)+".pack", flipped(200)) }, "is damaged or not there", none},
		"another end":   {func(x damaged) error { return x.edit(x.pack(x.first)+".pack", flipped(-1)) }, "is damaged or not there", none},
		"a cut index":   {func(x damaged) error { return x.edit(x.pack(x.second)+".idx", half) }, "is damaged or not there", tip},
		"no index left": {func(x damaged) error { return x.write(x.pack(x.second)+".idx", "") }, "is damaged or not there", tip},
		"another's index": {func(x damaged) error {
			return os.Rename(filepath.Join(x.repo, x.pack(x.first)+".idx"), filepath.Join(x.repo, x.pack(x.second)+".idx"))
		}, "is damaged or not there", none},
		"no directory": {func(x damaged) error { return x.remove("") }, "no such directory", none},
	} {
		t.Run(name, func(t *testing.T) {
			x := newDamaged(t)
			if err := test.harm(x); err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(entries(t, x.dir))
			found, err := openDisk(t, gitrepo.Config{Dir: x.dir, ReadOnly: true}).Check(t.Context(), some(1), x.refs)
			problems := strings.Join(found.All(), "\n")
			if err != nil || (test.want == "") != (problems == "") || !strings.Contains(problems, test.want) {
				t.Errorf("%q (%v)", problems, err)
			}
			if strings.Contains(problems, x.dir) {
				t.Errorf("%q", problems)
			}
			if after := fmt.Sprint(entries(t, x.dir)); after != before {
				t.Errorf("a check has changed\n%s\nto\n%s", before, after)
			}
			if (len(found.Data) > 0) != (test.left < all) {
				t.Errorf("%+v", found)
			}
			d := openDisk(t, gitrepo.Config{Dir: x.dir})
			if len(found.Data) > 0 {
				x.salvaged(t, d, test.left)
			} else {
				x.mended(t, d)
			}
		})
	}
}

// mended requires that everything is as it is to be, once that was seen to.
func (x damaged) mended(t *testing.T, d *gitrepo.Disk) {
	t.Helper()
	if err := d.Mend(t.Context(), some(1), x.refs); err != nil {
		t.Fatal(err)
	}
	if found, err := d.Check(t.Context(), some(1), x.refs); err != nil || len(found.All()) > 0 {
		t.Errorf("%+v (%v)", found, err)
	}
	if refs, err := d.Refs(some(1)); err != nil || fmt.Sprint(refs.List) != fmt.Sprint(x.refs.List) {
		t.Errorf("%v (%v)", refs, err)
	}
}

// salvaged requires that what is whole is in another repository, and nothing else.
func (x damaged) salvaged(t *testing.T, d *gitrepo.Disk, left int) {
	t.Helper()
	whole, size, err := d.Salvage(t.Context(), some(1), some(2), [][]gitwire.ObjectID{{x.first}, {x.second}})
	if err != nil || len(whole) != 2 || whole[0] != (left > 0) || whole[1] || (size > 0) != (left > 0) {
		t.Fatalf("%v, %d bytes (%v)", whole, size, err)
	}
	var here []gitwire.ObjectID
	if left > 0 {
		here = x.all(x.first.String())
	}
	wantMissing(t, d, some(2), here, 0)
	only := x.all(x.second.String(), "^"+x.first.String())
	wantMissing(t, d, some(2), only, len(only))
	if left == 0 {
		if _, err := os.Stat(pathOf(x.dir, some(2))); err == nil {
			t.Error("there is a repository with nothing")
		}
		return
	}
	refs := refsOf("refs/heads/main", "refs/heads/main", x.first)
	if err := d.Project(some(2), 0, refs); err != nil {
		t.Fatal(err)
	}
	if found, err := d.Check(t.Context(), some(2), refs); err != nil || len(found.All()) > 0 {
		t.Errorf("%+v (%v)", found, err)
	}
}

// What is taken away is in the trash for a while.
func TestWhatIsTakenAwayIsKept(t *testing.T) {
	x := newDamaged(t)
	if err := x.write("config", "[core]\n"); err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: x.dir})
	x.mended(t, d)
	kept, err := filepath.Glob(filepath.Join(x.dir, "trash", some(1).String()+".0-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q (%v)", kept, err)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != "[core]\n" {
		t.Errorf("%q (%v)", b, err)
	}
}

// Tips that share what they lead to are saved together, and groups without any are whole.
func TestGroupsAreSavedAsTheyAre(t *testing.T) {
	x := newDamaged(t)
	if err := x.edit(x.pack(x.second)+".pack", half); err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: x.dir})
	whole, size, err := d.Salvage(t.Context(), some(1), some(2), [][]gitwire.ObjectID{{}, {x.first, x.second}})
	if err != nil || fmt.Sprint(whole) != "[true false]" || size != 0 {
		t.Errorf("%v, %d bytes (%v)", whole, size, err)
	}
	if names := entries(t, filepath.Join(x.dir, "incoming")); len(names) > 0 {
		t.Errorf("%q are left", names)
	}
}

// Refs are read as they were written; nothing else is taken for them.
func TestRefsAreReadBack(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	tag := c.tag("v1", tip)
	push(t, d, some(1), c.pack("main", tag.String()), gitrepo.Proving{Tips: ids{tip, tag}})
	refs := refsOf("refs/heads/main", "refs/heads/main", tip, "refs/tags/v1", tag)
	refs.List[1].Peeled = tip
	if err := d.Project(some(1), 0, refs); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Refs(some(1)); err != nil || fmt.Sprint(got.List) != fmt.Sprint(refs.List) {
		t.Errorf("%v (%v)", got, err)
	}
	if got, err := d.Refs(some(2)); err != nil || len(got.List) > 0 {
		t.Errorf("%v (%v)", got, err)
	}
	for _, text := range []string{"\n", "^" + tip.String() + "\n", tip.String() + "\n", "x refs/heads/main\n", tip.String() + " refs/heads/a..b\n"} {
		if err := os.WriteFile(filepath.Join(pathOf(dir, some(1)), "packed-refs"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Refs(some(1)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	var repos []gitrepo.ID
	if err := d.Each(t.Context(), func(id gitrepo.ID) error { repos = append(repos, id); return nil }); err != nil || len(repos) != 1 || repos[0] != some(1) {
		t.Errorf("%v (%v)", repos, err)
	}
}
