package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/graspd/graspd/interop/wire"
)

// process is a running graspd.
type process struct {
	url   string
	admin string // its private listener, where it hosts repositories; ""
	cmd   *exec.Cmd
	says  lastWords
	ended chan struct{} // closed when it has ended
	err   error         // why, after that
}

var (
	listens  = regexp.MustCompile(`listens on (ws://\S+)`)
	statusAt = regexp.MustCompile(`(http://\S+)/status\.json`)
)

// start runs graspd on a free port with that data, and waits until it listens. It may have so many files open, or, with 0, as many as
// the system allows. Strangers' limits hold for loopback, as there is a proxy that is believed. One that hosts repositories tells its figures, too.
func start(binary, data string, hosts bool, files int, flags ...string) (*process, error) {
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--domain", domain, "--disk-floor", "0",
		"--log-level", "error", "--quiet", "--trusted-proxies", proxy.String() + "/32"}, flags...)
	if hosts {
		args = append(args, "--admin-listen", "127.0.0.1:0")
	} else {
		args = append(args, "--git=false", "--admin-listen", "")
	}
	if files > 0 {
		args, binary = append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files), binary}, args...), "sh"
	}
	g := &process{cmd: exec.Command(binary, args...), ended: make(chan struct{})}
	g.cmd.Stderr = &g.says
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the siege, which ends it then
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for (g.url == "" || hosts && g.admin == "") && lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			g.url = m[1]
		}
		if m := statusAt.FindStringSubmatch(lines.Text()); m != nil {
			g.admin = m[1]
		}
	}
	go func() {
		for lines.Scan() { // what follows is not of interest, but must be read
		}
		g.err = g.cmd.Wait()
		close(g.ended)
	}()
	if g.url == "" {
		return nil, errors.Join(fmt.Errorf("graspd does not say where it listens: %s", g.says.String()), g.stop())
	}
	return g, nil
}

// died says how it has ended, or nothing while it runs.
func (g *process) died() string {
	select {
	case <-g.ended:
		return fmt.Sprintf("%v, %s", g.err, g.says.String())
	default:
		return ""
	}
}

// stop ends it as a service manager does. One that has ended is not stopped, and no error.
func (g *process) stop() error {
	if g.died() != "" {
		return nil
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-g.ended:
		if g.err != nil {
			return errors.New(g.died())
		}
		return nil
	case <-time.After(30 * time.Second):
		err := g.cmd.Process.Kill()
		<-g.ended
		return errors.Join(fmt.Errorf("graspd does not stop within 30 s: %s", g.says.String()), err)
	}
}

// forgetPeak makes peak tell the most from now on. Where the system cannot, it goes on telling the most since the start.
func (g *process) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.cmd.Process.Pid), []byte("5"), 0)
}

// peak is the most memory that it had, in bytes; 0 where it has ended.
func (g *process) peak() int64 { return g.size("VmHWM") }

// size is what /proc tells under that name, in bytes.
func (g *process) size(name string) int64 { return wire.MemoryOf(g.cmd.Process.Pid, name) }

// lastWords keep what a process says until it is too much: the first lines of a fault tell which it is.
type lastWords struct {
	mu   sync.Mutex
	kept []byte
}

const mostWords = 64 << 10

// Write takes everything and keeps some.
func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b[:min(len(b), mostWords-len(l.kept))]...)
	return len(b), nil
}

// String is the line that names the fault, or else the last one.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(l.kept)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		} else if line != "" {
			last = line
		}
	}
	return last
}
