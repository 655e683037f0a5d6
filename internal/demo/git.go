package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
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
