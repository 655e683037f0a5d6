package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const domain = "relay.example.org"

// process is a running graspd.
type process struct {
	url  string
	cmd  *exec.Cmd
	data string
	over bool

	rows           []row
	settled, ended float64 // memory after a fifth of the subscribers' time, and at its end
}

var listens = regexp.MustCompile(`listens on (ws://\S+)`)

// start runs graspd on a free port with an empty store.
func start(binary string) (*process, error) {
	if binary == "" {
		return nil, errors.New("-graspd is needed: the binary under load")
	}
	data, err := os.MkdirTemp("", "graspd-load")
	if err != nil {
		return nil, err
	}
	g := &process{data: data, cmd: exec.Command(binary, "serve", "--git=false", "--listen", "127.0.0.1:0", "--data", data, "--domain", domain,
		"--sync=false", "--disk-floor", "0", "--log-level", "warn")}
	g.cmd.Stderr = os.Stderr
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			g.url = m[1]
			go func() { // the rest is not of interest, but must be read
				for lines.Scan() {
				}
			}()
			return g, nil
		}
	}
	return nil, errors.Join(errors.New("graspd does not say where it listens"), g.stop())
}

// stop ends graspd as a service manager does. It may be called again.
func (g *process) stop() error {
	if g.over {
		return nil
	}
	g.over = true
	defer os.RemoveAll(g.data)
	begun := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("graspd does not stop properly: %w", err)
	}
	fmt.Fprintf(os.Stderr, "stopped within %v\n", time.Since(begun).Round(time.Millisecond))
	return nil
}

// status reads a size from /proc, in MB; 0 where there is none.
func (g *process) status(name string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			var kb float64
			if _, err := fmt.Sscan(v, &kb); err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}
