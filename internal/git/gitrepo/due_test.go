package gitrepo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const day = 24 * time.Hour

// weak is a git that cannot combine all packs, as long as there is no file named strong in dir. It counts how often it was asked to.
func weak(t *testing.T, dir string) (git *gitproc.Git, asked func() int) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' repack '*--cruft*) echo >> '%s/asked'; [ -e '%s/strong' ] || exit 1;; esac\nexec %s \"$@\"\n", dir, dir, real)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if git, err = gitproc.Open(t.Context(), gitproc.Config{Program: filepath.Join(dir, "git")}); err != nil {
		t.Fatal(err)
	}
	return git, func() int {
		b, err := os.ReadFile(filepath.Join(dir, "asked"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return len(b)
	}
}

// takenBack is a repository whose branch has moved away from something.
func takenBack(t *testing.T, d *gitrepo.Disk, c *clone) (refs *gitwire.Refs, taken, stays gitwire.ObjectID) {
	t.Helper()
	taken, stays = c.commit("taken", 1, gitwire.ObjectID{}), c.commit("main", 2, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("taken", "main"), gitrepo.Proving{Tips: ids{taken, stays}})
	refs = refsOf("", "refs/heads/main", stays)
	for _, r := range []*gitwire.Refs{refsOf("", "refs/heads/main", taken), refs} {
		if err := d.Project(some(1), 0, r); err != nil {
			t.Fatal(err)
		}
	}
	return refs, taken, stays
}

// TestWhatGitCannotDropIsTriedSeldom: and the packs are combined as those of others meanwhile.
func TestWhatGitCannotDropIsTriedSeldom(t *testing.T) {
	dir, now := tempDir(t), &clock{time.Now().Add(-time.Hour)}
	git, asked := weak(t, dir)
	d := openDisk(t, gitrepo.Config{Dir: dir + "/repos", Now: now.now, Large: 1, Git: git})
	c := newClone(t)
	refs, taken, stays := takenBack(t, d, c)
	maintain(t, d, refs, nil, false)
	wait, tries := 14, 0
	for i, rest := range []int{1, 2, 4, 8, 14, 14} {
		now.at = now.at.Add(time.Duration(wait)*day - time.Minute)
		maintain(t, d, refs, nil, false)
		now.at = now.at.Add(time.Minute)
		if _, err := d.Maintain(t.Context(), some(1), refs, nil, nil); err == nil {
			t.Fatal("git did it")
		}
		if tries++; asked() != tries {
			t.Fatalf("%d tries, want %d", asked(), tries)
		}
		if i < 2 {
			more(t, d, c, stays, 9*(i+1)) // more packs than may stay
			maintain(t, d, refs, nil, true)
		}
		maintain(t, d, refs, nil, false)
		wait = rest
	}
	if asked() != tries {
		t.Fatalf("%d tries, want %d", asked(), tries)
	}
	if err := os.WriteFile(dir+"/strong", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, did := range []bool{true, false} {
		now.at = now.at.Add(14 * day)
		maintain(t, d, refs, nil, did)
		maintain(t, d, refs, nil, false)
	}
	if lacks, err := d.Lacks(some(1), ids{taken}); err != nil || len(lacks) != 1 {
		t.Errorf("lacks %v (%v)", lacks, err)
	}
}

// TestWhatMayNotGoIsNotTried: while something comes in that may build on it, or somebody may have been told of it.
func TestWhatMayNotGoIsNotTried(t *testing.T) {
	now := &clock{time.Now().Add(-time.Hour)}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Now: now.now, Large: 1})
	refs, _, _ := takenBack(t, d, newClone(t))
	maintain(t, d, refs, nil, false)
	now.at = now.at.Add(14 * day)
	q := begin(t, d, some(1))
	maintain(t, d, refs, nil, false)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	d.PromiseTooMuch(some(1))
	maintain(t, d, refs, nil, false)
	now.at = now.at.Add(2 * time.Hour)
	d.PromiseTooMuch(some(2))
	maintain(t, d, refs, nil, false)
	now.at = now.at.Add(2 * time.Hour)
	d.PromiseTooMuch(some(2))
	maintain(t, d, refs, nil, true)
	maintain(t, d, refs, nil, false)
}

// TestDropsAreWatchedOutsideTheLock: pushes do not wait while a look at all repositories makes files, and what stands there wrongly begins anew.
func TestDropsAreWatchedOutsideTheLock(t *testing.T) {
	d, dir, now := timed(t)
	refs, _, _ := takenBack(t, d, newClone(t))
	file := filepath.Join(pathOf(dir, some(1)), "combined")
	written := 0
	d.BeforeChange(func() {
		if written++; d.Locked(some(1)) {
			t.Error("pushes wait")
		}
	})
	maintain(t, d, refs, nil, false)
	if written != 1 {
		t.Errorf("%d changes", written)
	}
	for _, wrong := range []string{"", "\x00\x00\x00", "1 2", fmt.Sprint(now.at.Unix()+99, now.at.Unix()+100, 0), fmt.Sprint(1, now.at.Add(15*day).Unix(), 0)} {
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		maintain(t, d, refs, nil, false)
		want := fmt.Sprintln(now.at.Unix(), now.at.Add(14*day).Unix(), 0)
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("after %q: %q (%v), want %q", wrong, got, err, want)
		}
	}
	if found, err := d.Check(t.Context(), some(1), refs); err != nil || found.Frame != nil || found.Data != nil || strings.Contains(fmt.Sprint(found), "combined") {
		t.Errorf("%+v (%v)", found, err)
	}
}
