package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/interop/wire"
)

// process is a running graspd.
type process struct {
	url, admin string // where it listens; admin begins with http
	begun      time.Time
	listening  time.Duration // from its start until it said where it listens
	cmd        *exec.Cmd
	complaints bytes.Buffer // what it logged; to be read when it has ended
	ended      sync.Once
	err        error
}

var (
	listens  = regexp.MustCompile(`listens on (ws://\S+)`)
	statusAt = regexp.MustCompile(`(http://\S+)/status\.json`)
)

// start runs graspd with the data directory at that address, and on a free port for the operator, and waits until it listens.
func start(ctx context.Context, binary, at, data string, args ...string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	args = append([]string{"serve", "--git=false", "--listen", at, "--admin-listen", "127.0.0.1:0", "--data", data, "--domain", domain,
		"--disk-floor", "0", "--log-level", "error", "--quiet"}, args...)
	g := &process{cmd: exec.Command(binary, args...)}
	g.cmd.Stderr = &g.complaints
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the bench, which ends it then
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.begun = time.Now()
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for g.admin == "" && lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			g.url, g.listening = m[1], time.Since(g.begun)
		}
		if m := statusAt.FindStringSubmatch(lines.Text()); m != nil {
			g.admin = m[1]
		}
	}
	if g.admin == "" {
		err := g.stop()
		return nil, errors.Join(fmt.Errorf("graspd does not say where it listens: %s", g.complaints.String()), err)
	}
	go func() { // what follows is not of interest, but must be read
		for lines.Scan() {
		}
	}()
	return g, nil
}

// stop ends it as a service manager does. It may be called again.
func (g *process) stop() error {
	g.ended.Do(func() {
		slow := time.AfterFunc(30*time.Second, func() { _ = g.cmd.Process.Kill() })
		defer slow.Stop()
		_ = g.cmd.Process.Signal(syscall.SIGTERM) // it may have ended, which Wait tells
		if err := g.cmd.Wait(); err != nil {
			g.err = fmt.Errorf("graspd does not stop properly: %w\n%s", err, g.complaints.String())
		}
	})
	return g.err
}

// pause stops the process until goOn: it keeps its connections, and takes nothing of the processor.
func (g *process) pause() error { return g.cmd.Process.Signal(syscall.SIGSTOP) }

func (g *process) goOn() error { return g.cmd.Process.Signal(syscall.SIGCONT) }

// get reads a page of the private listener.
func (g *process) get(ctx context.Context, page string) ([]byte, int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.admin+page, nil)
	if err != nil {
		return nil, 0, err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return b, a.StatusCode, err
}

// status is how it stands.
func (g *process) status(ctx context.Context) (s admin.Status, err error) {
	b, _, err := g.get(ctx, "/status.json")
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// metric is a figure without labels from /metrics.
func (g *process) metric(ctx context.Context, name string) (v float64, err error) {
	b, _, err := g.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, name+" "); ok {
			_, err := fmt.Sscan(rest, &v)
			return v, err
		}
	}
	return 0, fmt.Errorf("there is no %s", name)
}

// sum is the sum of the series of a figure from /metrics whose labels begin so.
func (g *process) sum(ctx context.Context, name, labels string) (sum float64, err error) {
	b, _, err := g.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, name+"{"+labels); ok {
			var v float64
			if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, '}')+1:], &v); err != nil {
				return 0, err
			}
			sum += v
		}
	}
	return sum, nil
}

// until asks again and again until what is told is right.
func (g *process) until(ctx context.Context, every time.Duration, right func(admin.Status) bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := g.status(ctx)
		if err != nil {
			return err
		}
		if right(s) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for graspd: %w; events %d, relays %s", context.Cause(ctx), s.Store.Events, brief(s.Sync.Relays))
		}
	}
}

// brief tells how some relays stand, for an error.
func brief(all []status.Relay) string {
	var b strings.Builder
	for _, r := range all[:min(len(all), 3)] {
		fmt.Fprintf(&b, "%s is %s, wanted %v, confirmed %v; ", r.URL, r.Phase, r.Want, r.Confirmed)
	}
	return b.String()
}

// cpu is the processor time that it has used, to a hundredth of a second.
func (g *process) cpu() time.Duration { return g.times(11, 12) }

// tree is cpu and that of the processes that it has started and that have ended.
func (g *process) tree() time.Duration { return g.times(11, 12, 13, 14) }

// times sums up fields of what the system tells of the process, counted from its state.
func (g *process) times(fields ...int) (sum time.Duration) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before may have spaces
	f := strings.Fields(rest)
	for _, i := range fields {
		var ticks int64
		if i < len(f) {
			_, _ = fmt.Sscan(f[i], &ticks)
		}
		sum += time.Duration(ticks) * (time.Second / 100)
	}
	return sum
}

// calm waits until the process does nothing any more: a store that was just opened goes on merging its tables.
func (g *process) calm(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := g.cpu(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		now := g.cpu()
		if now-last <= 20*time.Millisecond {
			return nil
		}
		last = now
	}
}

// allocated is what it has allocated so far, in bytes.
func (g *process) allocated(ctx context.Context) (int64, error) {
	b, err := g.metric(ctx, "go_memstats_alloc_bytes_total")
	return int64(b), err
}

// size is what /proc tells under that name, in bytes: VmRSS is the memory now, VmHWM the most so far.
func (g *process) size(name string) int64 { return wire.MemoryOf(g.cmd.Process.Pid, name) }

// kill ends it without warning.
func (g *process) kill() {
	g.ended.Do(func() {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait() // it was killed
	})
}
