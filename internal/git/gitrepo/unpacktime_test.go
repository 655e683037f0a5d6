package gitrepo_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// What git may take of the processor for a pack goes by its size, so that a few bytes make no work for minutes; what is found out
// about it afterwards may take some times as long.
func TestTheTimeForAPackGoesByItsSize(t *testing.T) {
	dir := t.TempDir()
	said, program := filepath.Join(dir, "said"), filepath.Join(dir, "git")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`#!/bin/sh
read go <"$GIT_CONFIG_GLOBAL" # it has its limits now
[ "$GIT_DIR" ] && echo $(ulimit -t) >>%s
exec %s "$@"
`, said, git)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: g})
	c := newClone(t)
	big := make([]byte, 3<<20)
	_, _ = rand.Read(big) // it never fails
	blob := parse(t, c.git(big, "hash-object", "-w", "--stdin"))
	main := c.commit("main", 1, gitwire.ObjectID{})
	for _, test := range []struct {
		tip  gitwire.ObjectID
		pack []byte
		want string
	}{
		{main, c.pack("main"), "3"}, {blob, c.packOf(blob), "6 36"},
	} {
		if err := os.WriteFile(said, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		q, err := d.Begin(gitrepo.ID{})
		if err != nil {
			t.Fatal(err)
		}
		receive(t, q, test.pack)
		if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: []gitwire.ObjectID{test.tip}}); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(said)
		if got := strings.Join(strings.Fields(string(b)), " "); err != nil || !strings.HasPrefix(got, test.want) {
			t.Errorf("%q, not %q, %v", got, test.want, err)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}
