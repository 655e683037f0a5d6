package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// A page never waits for git, nor for long, and neither for a git that says nonsense.
func TestAskingFails(t *testing.T) {
	_, c, _, tip := served(t)
	dir := tempDir(t)
	program := filepath.Join(tempDir(t), "git")
	how := filepath.Join(dir, "how")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(`#!/bin/sh
case "$*" in
*" cat-file --batch-command"*) read x; . `+how+`;;
*) exec `+real+` "$@";;
esac
`), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program, Fetches: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := openDisk(t, gitrepo.Config{Dir: dir, Git: g})
	push(t, other, some(1), c.pack(c.refs()...), gitrepo.Proving{Commits: ids{tip}})
	look := func(ctx context.Context) error {
		return other.Ask(ctx, some(1), gitrepo.For{Party: "somebody", Now: true}, func(a *gitrepo.Asking) error {
			_, err := a.Read(1<<10, tip)
			return err
		})
	}
	for script, says := range map[string]string{"exit 0": "did not answer", "exit 3": "code 3", "echo nonsense; /bin/sleep 60": "nonsense", "kill -9 $$": "killed"} {
		if err := os.WriteFile(how, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := look(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", script, err)
		}
	}
	if err := os.WriteFile(how, []byte("echo >"+how+".runs; /bin/sleep 60"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- look(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(how + ".runs"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not run")
		}
	}
	soon, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	if err := look(soon); !errors.Is(err, gitproc.ErrBusy) {
		t.Errorf("where no slot is free: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLongWorkOfPagesLeavesTheKeptSlot: what prints histories or differences waits, where a question about objects is answered beside others.
func TestLongWorkOfPagesLeavesTheKeptSlot(t *testing.T) {
	_, c, _, tip := served(t)
	g, err := gitproc.Open(t.Context(), gitproc.Config{Fetches: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: g})
	for _, repo := range []gitrepo.ID{some(1), some(2)} {
		push(t, d, repo, c.pack(c.refs()...), gitrepo.Proving{Commits: ids{tip}})
	}
	ask := func(repo gitrepo.ID, party string, then func()) error {
		return d.Ask(t.Context(), repo, gitrepo.For{Party: party, Now: true}, func(a *gitrepo.Asking) error {
			_, err := a.Read(1<<10, tip)
			then()
			return err
		})
	}
	err = ask(some(1), "one", func() {
		_, _, err := d.Print(t.Context(), some(2), gitrepo.For{Party: "another", Now: true}, gitproc.Commits(1, false), []byte(tip.String()+"\n"), 100)
		if !errors.Is(err, gitproc.ErrBusy) {
			t.Errorf("the history: %v", err)
		}
		if err := ask(some(2), "another", func() {}); err != nil {
			t.Errorf("a question: %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
