package gitrepo_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func timed(t *testing.T) (*gitrepo.Disk, string, *clock) {
	t.Helper()
	dir, c := tempDir(t), &clock{time.Now()}
	return openDisk(t, gitrepo.Config{Dir: dir, Now: c.now}), dir, c
}

// packWith is the path of the pack that has an object, without its ending.
func packWith(t *testing.T, repo string, id gitwire.ObjectID) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repo, "objects/pack/*.idx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out, err := gitIn(repo, nil, "verify-pack", "-v", name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), id.String()+" ") {
			return strings.TrimSuffix(name, ".idx")
		}
	}
	t.Fatalf("no pack has %s", id)
	return ""
}

// What is removed can be taken out of the trash for 30 days.
func TestTheTrashKeeps(t *testing.T) {
	d, dir, c := timed(t)
	w := newClone(t)
	tip := w.commit("main", 1, gitwire.ObjectID{})
	push(t, d, some(1), w.pack("main"), gitrepo.Proving{Tips: ids{tip}})
	if err := d.Remove(some(1)); err != nil {
		t.Fatal(err)
	}
	inTrash := func(want int) {
		t.Helper()
		if err := d.Sweep(t.Context(), func(gitrepo.ID) bool { return true }); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "trash"))
		if err != nil || len(entries) != want {
			t.Fatal(entries, err)
		}
		if want == 1 && !strings.HasPrefix(entries[0].Name(), some(1).String()+"-") {
			t.Errorf("it is called %s", entries[0].Name())
		}
	}
	inTrash(1)
	c.at = c.at.Add(29 * 24 * time.Hour)
	inTrash(1)
	c.at = c.at.Add(2 * 24 * time.Hour)
	inTrash(0)
}

// Directories that nobody knows go into the trash, unless they are so fresh that whoever made them may not have told.
func TestUnknownDirectoriesAreSweptOut(t *testing.T) {
	d, dir, c := timed(t)
	w := newClone(t)
	tip := w.commit("main", 1, gitwire.ObjectID{})
	for _, repo := range []gitrepo.ID{some(1), some(2), {1, 2, 3}} {
		push(t, d, repo, w.pack("main"), gitrepo.Proving{Tips: ids{tip}})
	}
	for _, name := range []string{"ab/cd/notes", "ab/" + some(3).String(), "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var asked []gitrepo.ID
	sweep := func() {
		t.Helper()
		asked = nil
		if err := d.Sweep(t.Context(), func(repo gitrepo.ID) bool { asked = append(asked, repo); return repo == some(2) }); err != nil {
			t.Fatal(err)
		}
	}
	c.at = c.at.Add(time.Hour)
	sweep()
	if len(asked) != 3 {
		t.Errorf("asked about %v", asked)
	}
	wantMissing(t, d, some(1), ids{tip}, 0)
	c.at = c.at.Add(25 * time.Hour)
	sweep()
	wantMissing(t, d, some(1), ids{tip}, 1)
	wantMissing(t, d, gitrepo.ID{1, 2, 3}, ids{tip}, 1)
	wantMissing(t, d, some(2), ids{tip}, 0)
	for _, name := range []string{"ab/cd/notes", "ab/" + some(3).String(), "other"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// A copy has all, takes no room on the same file system, and opens.
func TestACopyIsComplete(t *testing.T) {
	t.Parallel()
	d, dir := disk(t)
	c := newClone(t)
	tip := c.commit("main", 3, gitwire.ObjectID{})
	refs := refsOf("refs/heads/main", "refs/heads/main", tip)
	for _, repo := range []gitrepo.ID{some(1), {1, 2, 3}} {
		push(t, d, repo, c.pack("main"), gitrepo.Proving{Tips: ids{tip}})
		if err := d.Project(repo, 0, refs); err != nil {
			t.Fatal(err)
		}
	}
	places := []string{filepath.Join(tempDir(t), "copy"), t.TempDir()} // the second one is on another file system at times
	for _, to := range places {
		for range 2 {
			if err := d.Copy(t.Context(), to); err != nil {
				t.Fatal(err)
			}
		}
		copied := openDisk(t, gitrepo.Config{Dir: to})
		for _, repo := range []gitrepo.ID{some(1), {1, 2, 3}} {
			wantMissing(t, copied, repo, c.all("main"), 0)
			if problems, err := copied.Check(t.Context(), repo, refs); err != nil || len(problems.All()) > 0 {
				t.Error(problems, err)
			}
		}
		pack := func(dir string) os.FileInfo {
			t.Helper()
			names, err := filepath.Glob(filepath.Join(pathOf(dir, some(1)), "objects/pack/*.pack"))
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			info, err := os.Stat(names[0])
			if err != nil {
				t.Fatal(err)
			}
			return info
		}
		same := pack(dir).Sys().(*syscall.Stat_t).Dev == pack(to).Sys().(*syscall.Stat_t).Dev
		if os.SameFile(pack(dir), pack(to)) != same {
			t.Errorf("a link, or none, where the file system is the same: %v", same)
		}
	}
	// What changes here does not change there.
	if err := d.Project(some(1), 0, refsOf("refs/heads/x", "refs/heads/x", tip)); err != nil {
		t.Fatal(err)
	}
	head, err := os.ReadFile(filepath.Join(pathOf(places[0], some(1)), "HEAD"))
	if err != nil || string(head) != "ref: refs/heads/main\n" {
		t.Errorf("%q %v", head, err)
	}
}

// TestARepositoryGoesWhileItIsCopied: the copy of the others goes on, and has nothing of it, or all.
func TestARepositoryGoesWhileItIsCopied(t *testing.T) {
	for _, before := range []string{"/HEAD", "/packed-refs", ".pack", ".idx", ""} {
		t.Run(before, func(t *testing.T) {
			d, dir := disk(t)
			tips := many(t, d, newClone(t), "main", 2)
			if err := d.Project(some(1), 0, refsOf("", "refs/heads/main", tips[1])); err != nil {
				t.Fatal(err)
			}
			c := newClone(t)
			other := c.commit("other", 1, gitwire.ObjectID{})
			push(t, d, gitrepo.ID{0xff}, c.pack("other"), gitrepo.Proving{Tips: ids{other}})
			done := before == ""
			d.BeforeRead(func(name string) {
				if !done && strings.Contains(name, some(1).String()) && strings.HasSuffix(name, before) {
					done = true
					if err := os.Rename(pathOf(dir, some(1)), filepath.Join(dir, "away")); err != nil {
						t.Error(err)
					}
				}
			})
			to := filepath.Join(tempDir(t), "copy")
			if err := d.Copy(t.Context(), to); err != nil || !done {
				t.Fatal(err, done)
			}
			copied := openDisk(t, gitrepo.Config{Dir: to})
			wantMissing(t, copied, gitrepo.ID{0xff}, ids{other}, 0)
			want := 2
			if before == "" {
				want = 0
			}
			wantMissing(t, copied, some(1), tips, want)
			if _, err := os.Stat(pathOf(to, some(1))); (err == nil) != (before == "") {
				t.Error(err)
			}
		})
	}
}

// slow holds whoever writes to it until it is let go.
type slow struct {
	bytes.Buffer
	begun, let chan struct{}
}

func newSlow() *slow { return &slow{begun: make(chan struct{}), let: make(chan struct{})} }

func (s *slow) Write(b []byte) (int, error) {
	if s.Len() == 0 {
		close(s.begun)
		<-s.let
	}
	return s.Buffer.Write(b)
}

var _ io.Writer = (*slow)(nil)
