package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/interop/wire"
)

// footprint is what graspd takes together with all processes of git that it has started: the most of each at a time.
type footprint struct {
	data      string // the directory
	before    int64  // bytes in it before the attack
	memory    int64
	processes int   // of git
	disk      int64 // beyond what there was before, with files that have no name any more
}

// watch looks at it until ctx ends.
func (t *footprint) watch(ctx context.Context, g *process) {
	for n := 0; sleep(ctx, 20*time.Millisecond) == nil; n++ {
		pids := wire.Descendants(g.cmd.Process.Pid)
		sum := g.size("VmRSS")
		for _, pid := range pids {
			sum += wire.MemoryOf(pid, "VmRSS")
		}
		t.memory, t.processes = max(t.memory, sum), max(t.processes, len(pids))
		if n%10 == 0 {
			t.disk = max(t.disk, used(t.data)+g.nameless()-t.before)
		}
	}
}

// nameless is the bytes of its open files that have no name any more.
func (g *process) nameless() (n int64) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.cmd.Process.Pid)) // the pattern is well-formed
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasSuffix(to, " (deleted)") {
			if i, err := os.Stat(fd); err == nil {
				n += i.Size()
			}
		}
	}
	return n
}

// String says what it took.
func (t *footprint) String() string {
	return fmt.Sprintf("%s with %d processes of git, disk %s", size(t.memory), t.processes, size(t.disk))
}

// accounts are the figures that are to be zero when nobody does anything.
var accounts = []string{
	"graspd_git_pushes_running", "graspd_git_pushes_queued", "graspd_git_fetches_running", "graspd_git_processes_running", "graspd_git_processes_queued",
}

// mostLeft is the time that accounts have to come back to zero. A client that does not read has a minute.
const mostLeft = 90 * time.Second

// leftovers says what is not as it was some time after an attack: accounts that are not at zero, and directories of quarantines
// beyond those of commits that wait for their events.
func (g *process) leftovers(ctx context.Context, a attack, data string) (left []string) {
	ctx, cancel := context.WithTimeout(ctx, mostLeft)
	defer cancel()
	for {
		figures, err := g.figures(ctx)
		if err != nil {
			return append(left, fmt.Sprintf("no figures: %v", err))
		}
		left = notAtRest(figures, quarantines(data))
		if a.breaks != nil {
			if why := a.breaks(figures); why != "" {
				left = append(left, why)
			}
		}
		if len(left) == 0 || sleep(ctx, 500*time.Millisecond) != nil {
			return left
		}
	}
}

// notAtRest says which accounts are not as they are when nobody does anything.
func notAtRest(figures map[string]float64, quarantines int) (left []string) {
	for _, name := range accounts {
		if figures[name] != 0 {
			left = append(left, fmt.Sprintf("%s is %g", name, figures[name]))
		}
	}
	if n := figures["graspd_git_cache_flights"] - figures["graspd_git_cache_entries"]; n != 0 {
		left = append(left, fmt.Sprintf("%g packs are neither sent nor kept", n))
	}
	if n := int(figures["graspd_git_uploads"]); n != quarantines {
		left = append(left, fmt.Sprintf("%d quarantines for %d uploads that wait", quarantines, n))
	}
	return left
}

// quarantines is how many directories there are of what is being received or waits.
func quarantines(data string) (n int) {
	dirs, _ := filepath.Glob(filepath.Join(data, "git", "incoming", "*")) // the pattern is well-formed
	return len(dirs)
}

// figures are what /metrics tells, those of all labels together.
func (g *process) figures(ctx context.Context) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.admin+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return sums(string(text)), err
}

// sums adds the values of each metric.
func sums(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if at := strings.LastIndexByte(line, ' '); at > 0 {
			value = strings.TrimSpace(line[at:])
		}
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] += v
		}
	}
	return all
}

// unsound is what graspd check says of the data of a relay that has ended, if it has something to say against it.
func (g *ground) unsound(ctx context.Context, data string) []string {
	out, err := exec.CommandContext(ctx, g.binary, "check", "--data", data, "--quiet").CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return []string{err.Error()}
	}
	lines := slices.Collect(strings.Lines(strings.TrimSpace(string(out))))
	return []string{"graspd check: " + strings.TrimSpace(strings.Join(lines[max(0, len(lines)-3):], " "))}
}
