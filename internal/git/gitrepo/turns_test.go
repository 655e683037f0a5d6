package gitrepo_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestFetchesOfOneRepositoryWaitForThoseOfOthers: of addresses that are alike, the one gets the slot that is kept that fetches from a repository of
// which nobody else has a pack made.
func TestFetchesOfOneRepositoryWaitForThoseOfOthers(t *testing.T) {
	dir := t.TempDir()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	program, log := filepath.Join(dir, "git"), filepath.Join(dir, "log") // once there is a log, no pack is ever made
	text := fmt.Sprintf(`#!/bin/sh
read go <"$GIT_CONFIG_GLOBAL" # it has its limits now
case "$*" in *pack-objects*) [ ! -e %[1]s/log ] || { echo "$* $GIT_DIR" >>%[1]s/log; while :; do /bin/sleep 0.02; done; };; esac
exec %[2]s "$@"
`, dir, git)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program, Fetches: 1}) // and one that is kept
	if err != nil {
		t.Fatal(err)
	}
	_, cl, _, _ := served(t)
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: g})
	for i := range byte(2) {
		push(t, d, some(i), cl.pack(cl.refs()...), gitrepo.Proving{Tips: ids{cl.id("main")}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	until := func(ok func() bool) {
		t.Helper()
		for !ok() {
			select {
			case <-time.After(time.Millisecond):
			case <-t.Context().Done():
				t.FailNow()
			}
		}
	}
	begun := func() []string {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(b), "\n")
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, repo := range []byte{0, 0, 0, 1} {
		all.Go(func() {
			_ = d.Pack(ctx, some(repo), &gitwire.Fetch{Wants: ids{cl.id("main")}}, fmt.Sprint("address ", i), io.Discard)
		})
		until(func() bool {
			s := g.Stats(gitproc.Fetch)
			return s.Running+s.Queued == i+1
		})
	}
	until(func() bool { return len(begun()) > 2 })
	if second := begun()[1]; !strings.Contains(second, some(1).String()) {
		t.Errorf("the next is %s", second)
	}
}
