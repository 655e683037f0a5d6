package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench is a directory in which the people of the demo work with git.
type bench string

// git runs git without the configuration of whoever looks on, and returns what it prints.
func (b bench) git(ctx context.Context, input []byte, args ...string) (string, error) {
	var out, problems bytes.Buffer
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = string(b), bytes.NewReader(input), &out, &problems
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + string(b), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // an interrupted git also ends what it has started
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// histories makes the directory of the bench, which must not exist yet, and n histories in it. Each is a line of commits, the oldest first.
func (b bench) histories(ctx context.Context, n int, now int64) (all [][]string, err error) {
	if err := os.Mkdir(string(b), 0o700); err != nil {
		return nil, err
	}
	if _, err := b.git(ctx, nil, "init", "--quiet", "--bare", "."); err != nil {
		return nil, err
	}
	if _, err := b.git(ctx, stream(n, now), "fast-import", "--quiet"); err != nil {
		return nil, err
	}
	for i := range n {
		listed, err := b.git(ctx, nil, "rev-list", "--reverse", "refs/heads/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(listed))
	}
	return all, nil
}

// stream writes n histories, on branches by number, in the form that fast-import reads.
func stream(n int, now int64) []byte {
	var b bytes.Buffer
	for i := range n {
		readme := names[i] + ", of the demo\n\n"
		for k := range 20 - 3*i {
			subject := subjects[(i+k)%len(subjects)]
			readme += "- " + subject + "\n"
			fmt.Fprintf(&b, "commit refs/heads/%d\ncommitter Somebody <somebody@example.org> %d +0000\ndata %d\n%s\n", i, now-int64(86_400-1000*k), len(subject), subject)
			fmt.Fprintf(&b, "M 100644 inline README.md\ndata %d\n%s\n", len(readme), readme)
		}
	}
	return b.Bytes()
}

// clone clones a repository and fails where the clone has other commits than those.
func (b bench) clone(ctx context.Context, url string, commits []string, into string) error {
	if _, err := b.git(ctx, nil, "clone", "--quiet", url, into); err != nil {
		return err
	}
	listed, err := bench(into).git(ctx, nil, "rev-list", "--reverse", "HEAD")
	if err != nil {
		return err
	}
	if got := strings.Fields(listed); !slices.Equal(got, commits) {
		return fmt.Errorf("the clone has %d other commits than the %d that were pushed", len(got), len(commits))
	}
	return nil
}
