package gitrepo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// many pushes a history in so many parts, and returns its commits.
func many(t *testing.T, d *gitrepo.Disk, c *clone, name string, n int) (tips ids) {
	t.Helper()
	var tip gitwire.ObjectID
	for range n {
		next := c.commit(name, 2, tip)
		p, pack := gitrepo.Proving{Tips: ids{next}}, []string{next.String()}
		if !tip.IsZero() {
			p.Haves, pack = ids{tip}, append(pack, "^"+tip.String())
		}
		push(t, d, some(1), c.pack(pack...), p)
		tip = next
		tips = append(tips, tip)
	}
	return tips
}

// clones makes it worth it to combine packs.
func clones(t *testing.T, d *gitrepo.Disk, tip gitwire.ObjectID) {
	t.Helper()
	for range 2 {
		if err := d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{tip}}, "", io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}

func maintain(t *testing.T, d *gitrepo.Disk, refs *gitwire.Refs, keep ids, want bool) {
	t.Helper()
	did, err := d.Maintain(t.Context(), some(1), refs, keep, nil)
	if err != nil || did != want {
		t.Fatalf("maintained: %v (%v), want %v", did, err, want)
	}
}

// packFiles are the endings of the files of packs, sorted.
func packFiles(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	for _, name := range entries(t, filepath.Join(pathOf(dir, some(1)), "objects", "pack")) {
		_, suffix, found := strings.Cut(name, ".")
		if !found || strings.HasPrefix(name, "multi") {
			suffix = "midx" + strings.TrimPrefix(filepath.Ext(name), ".")
		}
		out = append(out, suffix)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func fsck(t *testing.T, dir string) {
	t.Helper()
	if out, err := gitIn(pathOf(dir, some(1)), nil, "fsck", "--full"); err != nil || strings.Contains(string(out), "error") {
		t.Errorf("%v: %s", err, out)
	}
}

// Many packs become one with a bitmap. What nothing leads to stays for two weeks, and what is kept stays.
func TestManyPacksBecomeOne(t *testing.T) {
	t.Parallel()
	d, dir, now := timed(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	last := tips[len(tips)-1]
	other := c.commit("other", 2, gitwire.ObjectID{})
	keep := c.commit("keep", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack(other.String()), gitrepo.Proving{Tips: ids{other}})
	push(t, d, some(1), c.pack(keep.String()), gitrepo.Proving{Tips: ids{keep}})
	refs := refsOf("refs/heads/main", "refs/heads/main", last)
	if err := d.Project(some(1), 0, refs); err != nil {
		t.Fatal(err)
	}
	clones(t, d, last)
	maintain(t, d, refs, ids{keep}, true)
	if got := packFiles(t, dir); got != "bitmap idx idx mtimes pack pack" {
		t.Errorf("there are %s", got)
	}
	fsck(t, dir)
	maintain(t, d, refs, nil, false)
	all := append(c.all("main"), c.all("keep")...)
	gone := c.all("other", "^main", "^keep")
	// 15 days later they go, with the next reason to combine.
	now.at = now.at.Add(15 * 24 * time.Hour)
	more(t, d, c, last, 1)
	clones(t, d, last)
	maintain(t, d, refs, ids{keep}, true)
	wantMissing(t, d, some(1), all, 0)
	wantMissing(t, d, some(1), gone, len(gone))
	fsck(t, dir)
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if names := entries(t, pathOf(dir, some(1))); slices.Contains(names, "gone") {
		t.Error("something is still to go")
	}
}

// TestWhatRefsLedToOfLateStays: for two weeks, however old its pack is, as a backup under way may have the refs of before.
func TestWhatRefsLedToOfLateStays(t *testing.T) {
	old := time.Now().Add(-20 * 24 * time.Hour)
	for name, test := range map[string]struct {
		moved func(t *testing.T, d *gitrepo.Disk, file string, refs *gitwire.Refs) // the refs
		stays bool
	}{
		"just moved": {func(t *testing.T, d *gitrepo.Disk, _ string, refs *gitwire.Refs) {
			if err := d.Project(some(1), 0, refs); err != nil {
				t.Fatal(err)
			}
		}, true},
		"moved so late that their files are not written": {func(*testing.T, *gitrepo.Disk, string, *gitwire.Refs) {}, true},
		"moved long ago": {func(t *testing.T, d *gitrepo.Disk, file string, refs *gitwire.Refs) {
			if err := errors.Join(d.Project(some(1), 0, refs), os.Chtimes(file, old, old)); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir, now := timed(t)
			c := newClone(t)
			tip := many(t, d, c, "main", 1)[0]
			led := c.commit("led", 1, gitwire.ObjectID{})
			push(t, d, some(1), c.pack("led"), gitrepo.Proving{Tips: ids{led}})
			if err := d.Project(some(1), 0, refsOf("", "refs/heads/led", led, "refs/heads/main", tip)); err != nil {
				t.Fatal(err)
			}
			for _, file := range entries(t, pathOf(dir, some(1))) {
				if err := os.Chtimes(filepath.Join(pathOf(dir, some(1)), file), old, old); err != nil {
					t.Fatal(err)
				}
			}
			refs := refsOf("", "refs/heads/main", tip)
			test.moved(t, d, filepath.Join(pathOf(dir, some(1)), "packed-refs"), refs)
			combine := func(missing int) {
				t.Helper()
				clones(t, d, tip)
				maintain(t, d, refs, nil, true)
				wantMissing(t, openDisk(t, gitrepo.Config{Dir: dir, ReadOnly: true}), some(1), ids{led}, missing)
			}
			if !test.stays {
				combine(1)
				return
			}
			for i := range 2 {
				combine(0)
				more(t, d, c, tip, i+1)
				now.at = now.at.Add(13 * 24 * time.Hour)
			}
			combine(1)
		})
	}
}

// more pushes commits that nothing will name.
func more(t *testing.T, d *gitrepo.Disk, c *clone, upon gitwire.ObjectID, n int) {
	t.Helper()
	for i := range n {
		tip := c.commit(fmt.Sprintf("more%d", i), 1, upon)
		push(t, d, some(1), c.pack(tip.String(), "^"+upon.String()), gitrepo.Proving{Tips: ids{tip}, Haves: ids{upon}})
	}
}

// What somebody was told of late, or builds on, does not go.
func TestWhatSomebodyCountsOnStays(t *testing.T) {
	for name, count := range map[string]func(*testing.T, *gitrepo.Disk, ids){
		"told of it": func(t *testing.T, d *gitrepo.Disk, all ids) { wantMissing(t, d, some(1), all, 0) },
		"builds on it": func(t *testing.T, d *gitrepo.Disk, _ ids) {
			begin(t, d, some(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir, now := timed(t)
			c := newClone(t)
			tips := many(t, d, c, "main", 2)
			refs := refsOf("", "refs/heads/main", tips[0])
			more(t, d, c, tips[1], 2)
			all := c.all("main", "more1")
			now.at = now.at.Add(15 * 24 * time.Hour)
			count(t, d, all)
			clones(t, d, tips[0])
			maintain(t, d, refs, nil, true)
			wantMissing(t, d, some(1), all, 0)
			fsck(t, dir)
		})
	}
}

// A reader keeps the packs that it began with, and nobody else sees them.
func TestReadersKeepTheirPacks(t *testing.T) {
	d, dir, now := timed(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	lost := c.commit("lost", 1, gitwire.ObjectID{})
	lostPack := c.pack("lost")
	push(t, d, some(1), lostPack, gitrepo.Proving{Tips: ids{lost}})
	last := tips[len(tips)-1]
	refs := refsOf("", "refs/heads/main", last)
	before := entries(t, filepath.Join(pathOf(dir, some(1)), "objects", "pack"))
	now.at = now.at.Add(15 * 24 * time.Hour)

	out, done := newSlow(), make(chan error)
	go func() { done <- d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{last}}, "", out) }()
	<-out.begun
	clones(t, d, last)
	maintain(t, d, refs, nil, true)
	there := entries(t, filepath.Join(pathOf(dir, some(1)), "objects", "pack"))
	for _, name := range before {
		if !slices.Contains(there, name) {
			t.Errorf("%s went under a reader", name)
		}
	}
	wantMissing(t, d, some(1), ids{lost}, 1)
	if _, packs, err := d.Size(some(1)); err != nil || packs != 1 {
		t.Error(packs, err)
	}
	// It comes in again while its old pack is about to go. A second view of the disk sees the same.
	wantMissing(t, d, some(1), c.all("main"), 0)
	push(t, d, some(1), lostPack, gitrepo.Proving{Tips: ids{lost}})
	wantMissing(t, d, some(1), ids{lost}, 0)
	close(out.let)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, c, out.Bytes()); len(got) != len(c.all("main")) {
		t.Errorf("the reader got %d objects", len(got))
	}
	if got := packFiles(t, dir); got != "bitmap idx idx pack pack" {
		t.Errorf("there are %s", got)
	}
	fsck(t, dir)
	wantMissing(t, d, some(1), ids{lost, last}, 0)
	if _, packs, err := d.Size(some(1)); err != nil || packs != 2 {
		t.Error(packs, err)
	}
}

// TestPacksAreCombinedWhileSomebodyLooks: between any two reads of who looks for objects all packs may be replaced.
func TestPacksAreCombinedWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	for _, reader := range []bool{false, true} {
		for _, before := range []string{"/objects/pack", "/gone", ".idx"} {
			for name, look := range map[string]func(*testing.T, *gitrepo.Disk, ids){
				"objects": func(t *testing.T, d *gitrepo.Disk, tips ids) { wantMissing(t, d, some(1), tips, 0) },
				"packs": func(t *testing.T, d *gitrepo.Disk, tips ids) {
					if _, packs, err := d.Size(some(1)); err != nil || packs == 0 {
						t.Error(packs, err)
					}
				},
			} {
				t.Run(fmt.Sprintf("%s %s %v", name, strings.Trim(before, "./"), reader), func(t *testing.T) {
					d, dir := disk(t)
					tips := many(t, d, c, "main", 9)
					d = openDisk(t, gitrepo.Config{Dir: dir})
					if reader {
						defer d.Reading(some(1))()
					}
					done := meanwhile(d, before, func() { maintain(t, d, refsOf("", "refs/heads/main", tips[8]), nil, true) })
					look(t, d, tips)
					wantMissing(t, d, some(1), tips, 0)
					if !*done {
						t.Error("nothing was combined")
					}
				})
			}
		}
	}
}

// TestARepositoryGoesWhileSomebodyLooks: between any two reads of who looks for objects the repository may be moved away.
func TestARepositoryGoesWhileSomebodyLooks(t *testing.T) {
	for _, before := range []string{"/objects/pack", "/gone", ".idx"} {
		d, dir := disk(t)
		tips := many(t, d, newClone(t), "main", 2)
		d = openDisk(t, gitrepo.Config{Dir: dir})
		done := meanwhile(d, before, func() {
			if err := os.Rename(pathOf(dir, some(1)), filepath.Join(dir, "away")); err != nil {
				t.Error(err)
			}
		})
		wantMissing(t, d, some(1), tips, 2)
		if !*done {
			t.Error("it stayed")
		}
	}
}

// meanwhile has do called once, before d reads something that ends so.
func meanwhile(d *gitrepo.Disk, before string, do func()) (done *bool) {
	done = new(bool)
	d.BeforeRead(func(name string) {
		if strings.HasSuffix(name, before) && !*done {
			*done = true
			do()
		}
	})
	return done
}

// TestNothingIsBuiltOnWhatGoes: what only readers still use, or a kill has left, is there for git, and goes.
func TestNothingIsBuiltOnWhatGoes(t *testing.T) {
	for name, left := range map[string]func(t *testing.T, d *gitrepo.Disk, dir string, now *clock, tip, lost gitwire.ObjectID) *gitrepo.Disk{
		"a reader": func(t *testing.T, d *gitrepo.Disk, _ string, now *clock, tip, _ gitwire.ObjectID) *gitrepo.Disk {
			now.at = now.at.Add(15 * 24 * time.Hour)
			t.Cleanup(d.Reading(some(1)))
			clones(t, d, tip)
			maintain(t, d, refsOf("", "refs/heads/main", tip), nil, true)
			return d
		},
		"a kill": func(t *testing.T, _ *gitrepo.Disk, dir string, _ *clock, _, lost gitwire.ObjectID) *gitrepo.Disk {
			pack := packWith(t, pathOf(dir, some(1)), lost)
			if err := os.WriteFile(filepath.Join(pathOf(dir, some(1)), "gone"), []byte(filepath.Base(pack)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return openDisk(t, gitrepo.Config{Dir: dir})
		},
	} {
		for _, n := range []int{2, 100} { // commits that go
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				d, dir, now := timed(t)
				c := newClone(t)
				tips := many(t, d, c, "main", 2)
				lost := c.commit("lost", n, gitwire.ObjectID{})
				push(t, d, some(1), c.pack("lost"), gitrepo.Proving{Tips: ids{lost}})
				d = left(t, d, dir, now, tips[1], lost)
				wantMissing(t, d, some(1), ids{lost}, 1)
				tip := c.commit("lost", 1, lost)
				q := begin(t, d, some(1))
				receive(t, q, c.pack(tip.String(), "^"+lost.String()))
				var missing *gitrepo.MissingError
				if _, err := q.Prove(t.Context(), gitrepo.Proving{Commits: ids{tip}}); !errors.As(err, &missing) || !slices.Contains(missing.IDs, lost) {
					t.Errorf("proven: %v", err)
				}
			})
		}
	}
}

// TestWhatComesInAgainIsDurable: no power cut makes its pack one that was given up again.
func TestWhatComesInAgainIsDurable(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("main"), gitrepo.Proving{Tips: ids{tip}})
	gone := filepath.Join(pathOf(dir, some(1)), "gone")
	if err := os.WriteFile(gone, []byte(filepath.Base(packWith(t, pathOf(dir, some(1)), tip))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d = openDisk(t, gitrepo.Config{Dir: dir})
	durable := false
	d.BeforeSync(func(name string) {
		_, err := os.Stat(gone)
		durable = durable || strings.HasSuffix(name, some(1).String()) && errors.Is(err, fs.ErrNotExist)
	})
	again(t, d, c.pack("main"), tip)
	wantMissing(t, d, some(1), ids{tip}, 0)
	if !durable {
		t.Error("a power cut brings back that it was given up")
	}
}

// What a kill left of packs that were to go counts for nothing, and goes.
func TestAKillLeavesAllOldPacksOrNone(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 3)
	other := c.commit("other", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("other"), gitrepo.Proving{Tips: ids{other}})
	pack := packWith(t, pathOf(dir, some(1)), other)
	if err := os.WriteFile(filepath.Join(pathOf(dir, some(1)), "gone"), []byte(filepath.Base(pack)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(pack + ".idx"); err != nil { // as far as it came
		t.Fatal(err)
	}
	d = openDisk(t, gitrepo.Config{Dir: dir})
	wantMissing(t, d, some(1), ids{other, tips[2]}, 1)
	maintain(t, d, refsOf("", "refs/heads/main", tips[2]), nil, false) // not due, but for that
	if got := packFiles(t, dir); got != "idx idx idx pack pack pack" {
		t.Errorf("there are %s", got)
	}
	if names := entries(t, pathOf(dir, some(1))); slices.Contains(names, "gone") {
		t.Error("something is still to go")
	}
}

// Large repositories are combined in steps, under one index with a bitmap.
func TestLargeRepositoriesAreCombinedInSteps(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	d := openDisk(t, gitrepo.Config{Dir: dir, Large: 1})
	c := newClone(t)
	tips := many(t, d, c, "main", 3)
	refs := refsOf("", "refs/heads/main", tips[2])
	clones(t, d, tips[2])
	maintain(t, d, refs, nil, true)
	if got := packFiles(t, dir); !strings.HasPrefix(got, "idx ") || !strings.Contains(got, "midx midxbitmap") {
		t.Errorf("there are %s", got)
	}
	fsck(t, dir)
	tip := c.commit("main", 40, tips[2])
	push(t, d, some(1), c.pack(tip.String(), "^"+tips[2].String()), gitrepo.Proving{Tips: ids{tip}, Haves: ids{tips[2]}})
	refs = refsOf("", "refs/heads/main", tip)
	more(t, d, c, tip, 1)
	clones(t, d, tip)
	maintain(t, d, refs, nil, true)
	if got := packFiles(t, dir); strings.Count(got, "midx") != 2 {
		t.Errorf("there are %s", got)
	}
	fsck(t, dir)
	wantMissing(t, d, some(1), c.all("main"), 0)
	// With another limit all become one, and the index goes.
	d = openDisk(t, gitrepo.Config{Dir: dir})
	more(t, d, c, tips[1], 3)
	clones(t, d, tip)
	maintain(t, d, refs, nil, true)
	if got := packFiles(t, dir); got != "bitmap idx idx mtimes pack pack" {
		t.Errorf("there are %s", got)
	}
	fsck(t, dir)
	wantMissing(t, d, some(1), c.all("main", "more2"), 0)
}

// A repository's only pack gets a bitmap when it is cloned again and again, if it is large enough for that to matter.
func TestTheOnlyPackGetsABitmap(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		cfg  gitrepo.Config
		want string // "" leaves it as it is
	}{
		"small":  {gitrepo.Config{}, ""},
		"medium": {gitrepo.Config{WorthBitmap: 1}, "bitmap idx pack"},
		"large":  {gitrepo.Config{WorthBitmap: 1, Large: 1}, "idx midx midxbitmap pack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			x.cfg.Dir = dir
			d := openDisk(t, x.cfg)
			c := newClone(t)
			tip := many(t, d, c, "main", 1)[0]
			refs := refsOf("", "refs/heads/main", tip)
			was := packFiles(t, dir)
			maintain(t, d, refs, nil, false) // nobody clones it
			clones(t, d, tip)
			maintain(t, d, refs, nil, x.want != "")
			if x.want == "" {
				x.want = was
			}
			if got := strings.ReplaceAll(packFiles(t, dir), "rev ", ""); got != x.want {
				t.Errorf("there are %s, want %s", got, x.want)
			}
			fsck(t, dir)
			wantMissing(t, d, some(1), c.all("main"), 0)
			d = openDisk(t, x.cfg) // which knows no more how often it was cloned
			clones(t, d, tip)
			maintain(t, d, refs, nil, false)
		})
	}
}

// While combined packs are written to the disk, which may take long, something may come in.
func TestNobodyWaitsUntilCombinedPacksAreDurable(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	clones(t, d, tips[1])
	packs := 0
	d.BeforeSync(func(name string) {
		if strings.HasSuffix(name, ".pack") {
			packs++
			if d.Locked(some(1)) {
				t.Errorf("%s is made durable under the repository's lock", name)
			}
		}
	})
	maintain(t, d, refsOf("", "refs/heads/main", tips[1]), nil, true)
	if packs == 0 {
		t.Error("no pack is made durable")
	}
}

// held is a git that waits in the middle of combining packs, until it is let go.
func held(t *testing.T) (git *gitproc.Git, begun func(), letGo func()) {
	t.Helper()
	dir := tempDir(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"begun", "go"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' repack '*) %s \"$@\" || exit; echo > '%s/begun'; read x < '%s/go'; exit 0;; esac\nexec %s \"$@\"\n",
		real, dir, dir, real)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if git, err = gitproc.Open(t.Context(), gitproc.Config{Program: filepath.Join(dir, "git")}); err != nil {
		t.Fatal(err)
	}
	return git, func() {
			if _, err := os.ReadFile(filepath.Join(dir, "begun")); err != nil {
				t.Error(err)
			}
		}, func() {
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte("go\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
}

// What happens while packs are combined counts, too: what was to go stays if somebody may need it.
func TestMaintenanceGivesWay(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	lost := c.commit("lost", 1, gitwire.ObjectID{})
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, *gitrepo.Disk)
		did, gone bool
	}{
		"nothing":         {func(*testing.T, *gitrepo.Disk) {}, true, true},
		"told of it":      {func(t *testing.T, d *gitrepo.Disk) { wantMissing(t, d, some(1), ids{lost}, 0) }, false, false},
		"builds on it":    {func(t *testing.T, d *gitrepo.Disk) { begin(t, d, some(1)) }, false, false},
		"comes in again":  {func(t *testing.T, d *gitrepo.Disk) { again(t, d, c.pack("lost"), lost) }, false, false},
		"a second time":   {func(t *testing.T, d *gitrepo.Disk) { second(t, d) }, true, true},
		"it is removed":   {func(t *testing.T, d *gitrepo.Disk) { remove(t, d) }, false, true},
		"something other": {func(t *testing.T, d *gitrepo.Disk) { wantMissing(t, d, some(2), ids{lost}, 1) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			git, begun, letGo := held(t)
			dir, now := tempDir(t), &clock{time.Now()}
			d := openDisk(t, gitrepo.Config{Dir: dir, Now: now.now, Git: git})
			w := newClone(t)
			tips := many(t, d, w, "main", 2)
			push(t, d, some(1), c.pack("lost"), gitrepo.Proving{Tips: ids{lost}})
			now.at = now.at.Add(15 * 24 * time.Hour)
			clones(t, d, tips[1])
			type result struct {
				did bool
				err error
			}
			done := make(chan result)
			go func() {
				did, err := d.Maintain(t.Context(), some(1), refsOf("", "refs/heads/main", tips[1]), nil, nil)
				done <- result{did, err}
			}()
			begun()
			test.meanwhile(t, d)
			letGo()
			if r := <-done; r.err != nil || r.did != test.did {
				t.Errorf("%+v", r)
			}
			want := 0
			if test.gone {
				want = 1
			}
			wantMissing(t, d, some(1), ids{lost}, want)
			if name != "it is removed" {
				wantMissing(t, d, some(1), w.all("main"), 0)
				fsck(t, dir)
			}
		})
	}
}

// TestMaintenanceGivesWayToTheLast: while it is noted which packs go, nobody is told of what goes with them, and what begins just then may
// build on that.
func TestMaintenanceGivesWayToTheLast(t *testing.T) {
	for _, begins := range []bool{false, true} {
		d, dir, now := timed(t)
		c := newClone(t)
		tips := many(t, d, c, "main", 2)
		lost := c.commit("lost", 1, gitwire.ObjectID{})
		push(t, d, some(1), c.pack("lost"), gitrepo.Proving{Tips: ids{lost}})
		now.at = now.at.Add(15 * 24 * time.Hour)
		clones(t, d, tips[1])
		noted := 0
		d.BeforeSync(func(name string) {
			_, err := os.Stat(filepath.Join(pathOf(dir, some(1)), "gone"))
			if err != nil || !strings.HasSuffix(name, some(1).String()) {
				return
			}
			if noted++; !d.Silent() {
				t.Error("somebody may be told of what goes")
			}
			if begins {
				begin(t, d, some(1))
			}
		})
		maintain(t, d, refsOf("", "refs/heads/main", tips[1]), nil, !begins)
		if noted != 1 {
			t.Errorf("noted %d times", noted)
		}
		want := 1
		if begins {
			want = 0
		}
		wantMissing(t, d, some(1), ids{lost}, want)
		if names := entries(t, pathOf(dir, some(1))); slices.Contains(names, "gone") {
			t.Error("something is still to go")
		}
		fsck(t, dir)
	}
}

// TestWhatIsToBeKeptComesJustThen: what is to be kept may come in when it is settled already which packs are combined.
func TestWhatIsToBeKeptComesJustThen(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	keep := c.commit("keep", 1, gitwire.ObjectID{})
	d = openDisk(t, gitrepo.Config{Dir: dir})
	clones(t, d, tips[1])
	came := false
	d.BeforeRead(func(string) {
		if !came && !d.Locked(some(1)) {
			came = true
			again(t, d, c.pack("keep"), keep)
		}
	})
	maintain(t, d, refsOf("", "refs/heads/main", tips[1]), ids{keep}, true)
	wantMissing(t, d, some(1), append(tips, keep), 0)
	if !came {
		t.Error("nothing came")
	}
	fsck(t, dir)
}

// TestARepositoryGoesAsItsPacksAreCombined: that is no fault.
func TestARepositoryGoesAsItsPacksAreCombined(t *testing.T) {
	for n := range 4 { // reads before it goes
		d, dir := disk(t)
		tips := many(t, d, newClone(t), "main", 2)
		clones(t, d, tips[1])
		d.BeforeRead(func(string) {
			if d.Locked(some(1)) {
				return
			}
			if n--; n == -1 {
				if err := os.Rename(pathOf(dir, some(1)), filepath.Join(dir, "away")); err != nil {
					t.Error(err)
				}
			}
		})
		maintain(t, d, refsOf("", "refs/heads/main", tips[1]), ids{tips[0]}, false)
		if n >= 0 {
			t.Error("it stayed")
		}
	}
}

// TestWhatComesWhilePacksAreCombinedIsCombined: it is a pack of its own, so combining once more is of use.
func TestWhatComesWhilePacksAreCombinedIsCombined(t *testing.T) {
	t.Parallel()
	d, _ := disk(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	came := false
	d.BeforeSync(func(name string) { // the combined packs are not in their place yet
		if strings.HasSuffix(name, ".pack") && !came {
			came = true
			more(t, d, c, tips[1], 1)
		}
	})
	for _, did := range []bool{true, true, false} {
		clones(t, d, tips[1])
		maintain(t, d, refsOf("", "refs/heads/main", tips[1]), nil, did)
	}
}

// TestAReaderKeepsItsPacksWhereCombiningFails: whether the directory can be read is found out before packs are given up.
func TestAReaderKeepsItsPacksWhereCombiningFails(t *testing.T) {
	d, dir := disk(t)
	c := newClone(t)
	tips := many(t, d, c, "main", 2)
	before := entries(t, filepath.Join(pathOf(dir, some(1)), "objects", "pack"))
	end := d.Reading(some(1))
	clones(t, d, tips[1])
	packs, away := filepath.Join(pathOf(dir, some(1)), "objects", "pack"), filepath.Join(dir, "away")
	d.BeforeRead(func(name string) {
		if _, err := os.Stat(filepath.Join(pathOf(dir, some(1)), "gone")); err != nil || !strings.HasSuffix(name, "/objects/pack") {
			return
		}
		if err := errors.Join(os.Rename(packs, away), os.WriteFile(packs, nil, 0o600)); err != nil {
			t.Error(err)
		}
	})
	refs := refsOf("", "refs/heads/main", tips[1])
	if _, err := d.Maintain(t.Context(), some(1), refs, nil, nil); err != nil {
		d.BeforeRead(func(string) {})
		if err := errors.Join(os.Remove(packs), os.Rename(away, packs)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Maintain(t.Context(), some(1), refs, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	there := entries(t, packs)
	for _, name := range before {
		if !slices.Contains(there, name) {
			t.Errorf("%s went under a reader", name)
		}
	}
	end()
}

// second begins with the same work, and ends at once if it does.
func second(t *testing.T, d *gitrepo.Disk) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	end()
	if did, err := d.Maintain(ctx, some(1), refsOf(""), nil, nil); did || err != nil {
		t.Errorf("two at once: %v", err)
	}
}

func remove(t *testing.T, d *gitrepo.Disk) {
	t.Helper()
	if err := d.Remove(some(1)); err != nil {
		t.Error(err)
	}
}

// again admits a pack that is there, out of a quarantine beside nothing.
func again(t *testing.T, d *gitrepo.Disk, pack []byte, tip gitwire.ObjectID) {
	t.Helper()
	q := begin(t, d, gitrepo.ID{})
	receive(t, q, pack)
	_, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{tip}})
	if err == nil {
		err = d.Admit(q, some(1))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestWhatRefsLeaveGoes: also where the repository has a single pack, nobody clones it and nothing comes, and however large it is.
func TestWhatRefsLeaveGoes(t *testing.T) {
	for name, left := range map[string][]any{"a branch was moved": {"refs/heads/main"}, "all branches were deleted": nil} {
		t.Run(name, func(t *testing.T) {
			now := &clock{time.Now().Add(-time.Hour)}
			d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Now: now.now, Large: 1})
			c := newClone(t)
			taken, stays := c.commit("taken", 1, gitwire.ObjectID{}), c.commit("main", 2, gitwire.ObjectID{})
			push(t, d, some(1), c.pack("taken", "main"), gitrepo.Proving{Tips: ids{taken, stays}})
			if len(left) > 0 {
				left = append(left, stays)
			}
			refs := refsOf("", left...)
			if err := errors.Join(d.Project(some(1), 0, refsOf("", "refs/heads/main", taken)), d.Project(some(1), 0, refs)); err != nil {
				t.Fatal(err)
			}
			maintain(t, d, refs, nil, false)
			for _, days := range []struct {
				pass    int
				did     bool
				missing int
			}{{13, false, 0}, {1, true, 0}, {13, false, 0}, {1, true, 1}, {14, false, 1}, {100, false, 1}} {
				now.at = now.at.Add(time.Duration(days.pass) * 24 * time.Hour)
				maintain(t, d, refs, nil, days.did)
				lacks, err := d.Lacks(some(1), ids{taken})
				if err != nil || len(lacks) != days.missing {
					t.Fatalf("after %d days more: %v (%v), want %d missing", days.pass, lacks, err, days.missing)
				}
			}
			wantMissing(t, d, some(1), ids{stays}, 1-min(1, len(left)))
			if did, err := d.Check(t.Context(), some(1), refs); err != nil || did.Data != nil || did.Frame != nil {
				t.Errorf("%+v (%v)", did, err)
			}
		})
	}
}

// TestAskingForItKeepsNothing: who fetches by id does not keep an object that has to go.
func TestAskingForItKeepsNothing(t *testing.T) {
	d, dir, _ := timed(t)
	c := newClone(t)
	tip := many(t, d, c, "main", 1)[0]
	taken := c.commit("taken", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("taken"), gitrepo.Proving{Tips: ids{taken}})
	refs := refsOf("", "refs/heads/main", tip)
	old := time.Now().Add(-20 * 24 * time.Hour)
	err := d.Project(some(1), 0, refs)
	for _, file := range []string{"packed-refs", "objects/pack/" + filepath.Base(packWith(t, pathOf(dir, some(1)), taken)) + ".pack"} {
		err = errors.Join(err, os.Chtimes(filepath.Join(pathOf(dir, some(1)), file), old, old))
	}
	if err != nil {
		t.Fatal(err)
	}
	clones(t, d, tip)
	if lacks, err := d.Lacks(some(1), ids{taken}); err != nil || len(lacks) > 0 {
		t.Fatal(lacks, err)
	}
	if led, err := d.Unreached(t.Context(), some(1), ids{taken, tip}, ""); err != nil || len(led) != 1 {
		t.Fatal(led, err)
	}
	maintain(t, d, refs, nil, true)
	wantMissing(t, d, some(1), ids{taken}, 1)
}
