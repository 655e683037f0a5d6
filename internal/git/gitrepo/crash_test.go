package gitrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// until runs do on a disk and ends it before the change of a file that has this number. It reports whether it came so far.
func until(t *testing.T, d *gitrepo.Disk, n int, do func() error) (ended bool) {
	t.Helper()
	type kill struct{}
	defer func() {
		if reason := recover(); reason != nil {
			if reason != (kill{}) {
				panic(reason)
			}
			ended = true
		}
	}()
	d.BeforeChange(func() {
		if n--; n < 0 {
			panic(kill{})
		}
	})
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return false
}

// complete requires that whatever is there of these objects is there with all that it leads to.
func complete(t *testing.T, d *gitrepo.Disk, dir string, all ids) {
	t.Helper()
	missing, err := d.Missing(some(1), all)
	if err != nil {
		t.Fatal(err)
	}
	lacks := map[gitwire.ObjectID]bool{}
	for _, id := range missing {
		lacks[id] = true
	}
	var in strings.Builder
	for _, id := range all {
		if !lacks[id] {
			in.WriteString(id.String() + "\n")
		}
	}
	if in.Len() == 0 {
		return
	}
	out, err := gitIn(pathOf(dir, some(1)), []byte(in.String()), "rev-list", "--objects", "--no-object-names", "--stdin")
	if err != nil {
		t.Errorf("%v: %s", err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		if lacks[parse(t, strings.TrimSpace(line))] {
			t.Errorf("%s is said to be missing, and something that is there leads to it", strings.TrimSpace(line))
		}
	}
}

// A kill in the middle of anything leaves what was answered, and nothing without what it leads to. The same is done again then.
func TestAKillAnywhere(t *testing.T) {
	c := newClone(t)
	first := c.commit("main", 1, gitwire.ObjectID{})
	second := c.commit("main", 1, first)
	lost := c.commit("lost", 1, gitwire.ObjectID{})
	all := c.all("main", "lost")
	before := refsOf("refs/heads/main", "refs/heads/main", first)
	after := refsOf("refs/heads/main", "refs/heads/main", second)

	empty, one, some2 := tempDir(t), tempDir(t), tempDir(t)
	d, _ := disk(t)
	copyTo := func(dir string) {
		t.Helper()
		if err := d.Copy(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	put := func(tip gitwire.ObjectID, refs *gitwire.Refs, pack ...string) {
		t.Helper()
		push(t, d, some(1), c.pack(pack...), gitrepo.Proving{Tips: ids{tip}, Haves: ids{first}})
		if err := d.Project(some(1), 0, refs); err != nil {
			t.Fatal(err)
		}
	}
	copyTo(empty)
	put(first, before, first.String())
	copyTo(one)
	put(second, after, second.String(), "^"+first.String())
	put(lost, after, lost.String())
	copyTo(some2)

	arrive := func(tip gitwire.ObjectID, refs *gitwire.Refs) func(d *gitrepo.Disk) func() error {
		return func(d *gitrepo.Disk) func() error {
			q, err := d.Begin(some(1)) // which ends with the process
			if err != nil {
				t.Fatal(err)
			}
			receive(t, q, c.pack(tip.String()))
			if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}, Haves: ids{first}}); err != nil {
				t.Fatal(err)
			}
			return func() error { return errors.Join(d.Admit(q, some(1)), d.Project(some(1), 0, refs)) }
		}
	}
	for name, test := range map[string]struct {
		from    string
		prepare func(d *gitrepo.Disk) func() error
		stays   gitwire.ObjectID
		refs    *gitwire.Refs
		begin   int // the first change that counts
		least   int // changes of files
	}{
		"the first push": {empty, arrive(first, before), gitwire.ObjectID{}, before, 0, 8},
		"another push":   {one, arrive(second, after), first, after, 0, 4},
		"maintenance": {some2, func(d *gitrepo.Disk) func() error {
			clones(t, d, second)
			return func() error {
				_, err := d.Maintain(t.Context(), some(1), after, nil, nil)
				return err
			}
		}, second, after, 13, 20}, // what comes before is in incoming
	} {
		t.Run(name, func(t *testing.T) {
			later := &clock{time.Now().Add(15 * 24 * time.Hour)}
			t.Parallel()
			n := test.begin
			for ended := true; ended; n++ {
				if n == 40 {
					t.Fatal("no end of changes")
				}
				dir := tempDir(t)
				source := openDisk(t, gitrepo.Config{Dir: test.from})
				if err := source.Copy(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
				d := openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
				do := test.prepare(d)
				ended = until(t, d, n, do)
				d = openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
				complete(t, d, dir, all)
				if !test.stays.IsZero() {
					wantMissing(t, d, some(1), c.all(test.stays.String()), 0)
				}
				if err := test.prepare(d)(); err != nil {
					t.Errorf("killed at %d: %v", n, err)
				}
				if found, err := d.Check(t.Context(), some(1), test.refs); err != nil || len(found.All()) > 0 {
					t.Errorf("killed at %d: %q (%v)", n, found.All(), err)
				}
				complete(t, d, dir, all)
			}
			if n < test.least {
				t.Errorf("only %d changes", n)
			}
		})
	}
}

// TestAKillKeepsWhatSomebodyWasToldOf: an object of which somebody is told that it is here while packs are combined is here after a kill, too.
func TestAKillKeepsWhatSomebodyWasToldOf(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	lost := c.commit("lost", 1, gitwire.ObjectID{})
	later := &clock{time.Now().Add(15 * 24 * time.Hour)}
	n := 0
	for ended := true; ended; n++ {
		d, dir := disk(t)
		tips := many(t, d, c, "main", 2)
		push(t, d, some(1), c.pack("lost"), gitrepo.Proving{Tips: ids{lost}})
		d = openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
		clones(t, d, tips[1])
		told := false
		d.BeforeSync(func(name string) { // when the packs are combined
			if strings.HasSuffix(name, ".pack") && !told {
				told = true
				wantMissing(t, d, some(1), ids{lost}, 0)
			}
		})
		ended = until(t, d, n, func() error {
			_, err := d.Maintain(t.Context(), some(1), refsOf("", "refs/heads/main", tips[1]), nil, nil)
			return err
		})
		if !ended && !told {
			t.Error("nobody was told of it")
		}
		d = openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
		wantMissing(t, d, some(1), ids{lost}, 0)
	}
	if n < 15 {
		t.Errorf("only %d changes", n)
	}
}

// TestWhatAKillLeavesOfARepositoryIsSweptOut: also of one that is not a repository to git yet.
func TestWhatAKillLeavesOfARepositoryIsSweptOut(t *testing.T) {
	c := newClone(t)
	tip := c.commit("main", 1, gitwire.ObjectID{})
	later := &clock{time.Now().Add(25 * time.Hour)}
	left := 0
	for n, ended := 0, true; ended; n++ {
		d, dir := disk(t)
		q, err := d.Begin(some(1)) // which ends with the process
		if err != nil {
			t.Fatal(err)
		}
		receive(t, q, c.pack("main"))
		if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}}); err != nil {
			t.Fatal(err)
		}
		ended = until(t, d, n, func() error { return d.Admit(q, some(1)) })
		if _, err := os.Stat(pathOf(dir, some(1))); err == nil {
			left++
		}
		d = openDisk(t, gitrepo.Config{Dir: dir, Now: later.now})
		if err := d.Sweep(t.Context(), func(gitrepo.ID) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(pathOf(dir, some(1))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("killed at change %d of a file: %v", n, err)
		}
	}
	if left < 4 {
		t.Errorf("%d kills left something", left)
	}
}

// TestWhatAKillLeavesOfPacksGoes: files of packs without an index, which a kill has left of a push or of combined packs, go when packs are
// combined the next time. The trash keeps them.
func TestWhatAKillLeavesOfPacksGoes(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	first := c.commit("main", 1, gitwire.ObjectID{})
	second := c.commit("main", 1, first)
	refs := refsOf("", "refs/heads/main", second)
	for name, kill := range map[string]func(t *testing.T, d *gitrepo.Disk, n int) bool{
		"of a push": func(t *testing.T, d *gitrepo.Disk, n int) bool {
			q, err := d.Begin(some(1)) // which ends with the process
			if err != nil {
				t.Fatal(err)
			}
			other := c.commit("other", 1, gitwire.ObjectID{})
			receive(t, q, c.pack("other"))
			if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{other}}); err != nil {
				t.Fatal(err)
			}
			return until(t, d, n, func() error { return d.Admit(q, some(1)) })
		},
		"of combined packs": func(t *testing.T, d *gitrepo.Disk, n int) bool {
			clones(t, d, second)
			return until(t, d, n, func() error {
				_, err := d.Maintain(t.Context(), some(1), refsOf("", "refs/heads/main", first), nil, nil) // so that the packs are others
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			left := 0
			for n, ended := 0, true; ended; n++ {
				d, dir := disk(t)
				push(t, d, some(1), c.pack(first.String()), gitrepo.Proving{Tips: ids{first}})
				push(t, d, some(1), c.pack(second.String(), "^"+first.String()), gitrepo.Proving{Tips: ids{second}, Haves: ids{first}})
				ended = kill(t, d, n)
				files := unfinished(t, dir)
				if _, err := os.Stat(filepath.Join(pathOf(dir, some(1)), "gone")); err == nil {
					files = nil // these are of packs that were given up
				}
				left += len(files)
				d = openDisk(t, gitrepo.Config{Dir: dir})
				more(t, d, c, second, 1)
				clones(t, d, second)
				if _, err := d.Maintain(t.Context(), some(1), refs, nil, nil); err != nil {
					t.Fatal(err)
				}
				if now := unfinished(t, dir); len(now) > 0 {
					t.Errorf("killed at change %d of a file: %q", n, now)
				}
				if kept, err := filepath.Glob(filepath.Join(dir, "trash", some(1).String()+".*")); err != nil || len(kept) != len(files) {
					t.Errorf("killed at change %d of a file: %q went, and %q is in the trash", n, files, kept)
				}
				wantMissing(t, d, some(1), ids{first, second}, 0)
				fsck(t, dir)
			}
			if left == 0 {
				t.Error("no kill left anything")
			}
		})
	}
}

// unfinished returns the files of packs without an index.
func unfinished(t *testing.T, dir string) (files []string) {
	t.Helper()
	packs := filepath.Join(pathOf(dir, some(1)), "objects", "pack")
	for _, name := range entries(t, packs) {
		base, _, _ := strings.Cut(name, ".")
		if _, err := os.Stat(filepath.Join(packs, base+".idx")); err != nil && strings.HasPrefix(name, "pack-") {
			files = append(files, name)
		}
	}
	return files
}
