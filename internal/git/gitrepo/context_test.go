package gitrepo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestWorkOnPacksEndsWithItsContext: whatever git does with what strangers sent, it is over as soon as whoever asked for it has gone.
func TestWorkOnPacksEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	program, hangs := filepath.Join(dir, "git"), filepath.Join(dir, "hangs")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\n[ -p '%s' ] && { echo >'%s'; while :; do /bin/sleep 60; done; }\nexec %s \"$@\"\n", hangs, hangs, git)
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
	tip := c.commit("main", 2, gitwire.ObjectID{})
	tag := c.tag("v1", tip)
	pack := c.pack("main", "v1")
	push(t, d, some(1), pack, gitrepo.Proving{Commits: ids{tip}, Tips: ids{tag}})
	received, tagged, whole := begin(t, d, some(2)), begin(t, d, some(2)), begin(t, d, some(2))
	for _, q := range []gitrepo.Quarantine{received, tagged, whole} {
		receive(t, q, pack)
	}
	for name, work := range map[string]func(context.Context) error{
		"a push": func(ctx context.Context) error {
			_, err := begin(t, d, some(2)).Receive(ctx, bytes.NewReader(pack), gitrepo.Receiving{})
			return err
		},
		"a proof": func(ctx context.Context) error {
			_, err := received.Prove(ctx, gitrepo.Proving{Commits: ids{tip}})
			return err
		},
		"a proof of a tag": func(ctx context.Context) error {
			_, err := tagged.Prove(ctx, gitrepo.Proving{Tips: ids{tag}})
			return err
		},
		"a copy": func(ctx context.Context) error {
			_, _, err := d.CopyInto(ctx, some(1), some(3), gitrepo.Proving{Tips: ids{tag}})
			return err
		},
		"a part": func(ctx context.Context) error {
			_, _, err := d.Subset(ctx, whole, gitrepo.Proving{Commits: ids{tip}})
			return err
		},
		"a check": func(ctx context.Context) error {
			_, err := d.Check(ctx, some(1), refsOf("refs/heads/main", "refs/heads/main", tip))
			return err
		},
		"a repair": func(ctx context.Context) error {
			_, _, err := d.Salvage(ctx, some(1), some(4), [][]gitwire.ObjectID{{tip}})
			return err
		},
		"a clone": func(ctx context.Context) error {
			return d.Pack(ctx, some(1), &gitwire.Fetch{Wants: ids{tip}}, "", io.Discard)
		},
	} {
		if err := syscall.Mkfifo(hangs, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- work(ctx) }()
		if _, err := os.ReadFile(hangs); err != nil { // it runs
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(hangs); err != nil {
			t.Fatal(err)
		}
	}
}
