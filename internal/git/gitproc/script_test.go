package gitproc_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
)

// script writes a program that passes for git, and does as body says when it is run for anything but its version.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	text := `#!/bin/sh
while [ "$1" = -c ]; do shift 2; done
[ "$1" = version ] && { echo "git version 2.39.5"; exit; }
[ "$1 $2" = "cat-file -e" ] && exit 1
` + body + "\n"
	executable(t, path, text)
	return path
}

// executable writes a program. No process is started meanwhile: it would have the file open for writing, and nobody could run it.
func executable(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// open opens a git that must be fit.
func open(t *testing.T, cfg gitproc.Config) *gitproc.Git {
	t.Helper()
	g, err := gitproc.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// misbehave runs a script in place of git.
func misbehave(t *testing.T, body string, r gitproc.Run) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return open(t, gitproc.Config{Program: script(t, body)}).Run(ctx, gitproc.Reach(), r)
}

// mentions requires that err says all of it.
func mentions(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}
