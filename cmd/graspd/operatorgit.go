package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
)

// gitAt makes a command of git on a repository of graspd's, whoever owns it.
func gitAt(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "--git-dir", dir}, args...)...)
	c.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	return c
}

// bundle writes a commit into a new file, from which git fetches it as a branch. The repository itself stays as it is.
func (o *restoration) bundle(ctx context.Context, out io.Writer, dir, branch, commit string) error {
	to, err := filepath.Abs(o.to)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, &fs.PathError{Op: "write", Path: to, Err: fs.ErrExist})
	}
	beside, err := os.MkdirTemp("", "graspd-restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	format, err := gitAt(ctx, dir, "rev-parse", "--show-object-format").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "git", "init", "-q", "--bare", "--object-format="+strings.TrimSpace(string(format)), beside),
		gitAt(ctx, beside, "update-ref", branch, commit), gitAt(ctx, beside, "bundle", "create", "-q", to, branch),
	} {
		c.Env = append(os.Environ(), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(dir, "objects"))
		if text, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git: %w: %s", err, safetext.Printable(strings.TrimSpace(string(text))))
		}
	}
	name := strings.TrimPrefix(branch, "refs/heads/")
	_, err = fmt.Fprintf(out, "%s has %s as %s\nits owner takes it with: git fetch %s %s && git push --force origin FETCH_HEAD:%s (ngit signs the state that goes with it)\n",
		o.to, commit, safetext.Printable(branch), filepath.Base(o.to), name, name)
	return err
}
