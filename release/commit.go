package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// commit is what is released.
type commit struct {
	id      string
	at      time.Time // the time of all files, so that it depends on nothing else
	version string    // without a v
}

// commitOf is the commit that is checked out. Without a version that is given or tagged, it is one of development, which comes
// before every release.
func commitOf(ctx context.Context, root, version string) (c commit, err error) {
	text, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return c, err
	}
	id, seconds, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return c, fmt.Errorf("time of commit %s: %w", id, err)
	}
	c = commit{id: id, at: time.Unix(n, 0).UTC()}
	if version == "" {
		if tag, err := git(ctx, root, "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
			version = tag
		} else {
			version = fmt.Sprintf("0.0.0-dev.%s.g%s", c.at.Format("20060102150405"), c.id[:10])
		}
	}
	c.version, err = parseVersion(version)
	return c, err
}

var versions = regexp.MustCompile(`^v?((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?)$`)

// parseVersion takes what every package format can say.
func parseVersion(s string) (string, error) {
	m := versions.FindStringSubmatch(s)
	if m == nil {
		return "", fmt.Errorf("-version: %q is no version such as 1.2.3 or 1.2.3-rc.1", s)
	}
	return m[1], nil
}

// export writes the files of a commit, and nothing that is only in the checkout, into a new directory.
func (c commit) export(ctx context.Context, root, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	tar := filepath.Join(filepath.Dir(to), "source.tar")
	if _, err := git(ctx, root, "archive", "--format=tar", "-o", tar, c.id); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xf", tar, "-C", to).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, out)
	}
	return os.Remove(tar)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
