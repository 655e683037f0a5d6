package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// gitEnv is the environment of every git here: nobody's configuration, and one author.
func gitEnv(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org"}, more...)
}

// cost is what something took. cpu has the processes that it started.
type cost struct{ wall, cpu time.Duration }

// git runs git in a directory and returns what it printed.
func git(ctx context.Context, dir string, in io.Reader, args ...string) (string, cost, error) {
	return gitWith(ctx, dir, gitEnv(), in, args...)
}

func gitWith(ctx context.Context, dir string, env []string, in io.Reader, args ...string) (string, cost, error) {
	var out bytes.Buffer
	took, err := gitRun(ctx, dir, env, &out, in, args...)
	if err != nil {
		return "", took, err
	}
	return out.String(), took, nil
}

// gitTo is git whose output goes to out.
func gitTo(ctx context.Context, dir string, out io.Writer, in io.Reader, args ...string) (cost, error) {
	return gitRun(ctx, dir, gitEnv(), out, in, args...)
}

func gitRun(ctx context.Context, dir string, env []string, out io.Writer, in io.Reader, args ...string) (cost, error) {
	c := exec.CommandContext(ctx, "git", args...)
	var errs bytes.Buffer
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = dir, env, in, out, &errs
	begun := time.Now()
	err := c.Run()
	took := cost{wall: time.Since(begun)}
	if err != nil {
		return took, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	took.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return took, nil
}

// children is the processor time of the processes that this one has started and that have ended.
func children() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
