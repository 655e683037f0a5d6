package gitproc

import (
	"io/fs"
	"math"
	"os/exec"
	"strings"
	"testing"

	"os"
)

func TestMemoryOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"no groups":      {"", nil, math.MaxInt64},
		"no limit":       {"0::/a\n", map[string]string{"/sys/fs/cgroup/a/memory.max": "max\n"}, math.MaxInt64},
		"its own":        {"0::/a/b\n", map[string]string{"/sys/fs/cgroup/a/b/memory.max": "100\n", "/sys/fs/cgroup/a/memory.max": "200\n"}, 100},
		"one above":      {"0::/a/b\n", map[string]string{"/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "300\n"}, 300},
		"in a container": {"0::/\n", map[string]string{"/sys/fs/cgroup/memory.max": "400"}, 400},
		"the old kind":   {"5:cpu:/x\n4:memory:/a\n0::/\n", map[string]string{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "500\n"}, 500},
		"hidden":         {"4:memory:/a/b\n", map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "600\n"}, 600},
		"no number":      {"0::/a\n", map[string]string{"/sys/fs/cgroup/a/memory.max": "0\n", "/sys/fs/cgroup/memory.max": "x"}, math.MaxInt64},
	} {
		read := func(file string) ([]byte, error) {
			text, ok := c.files[file]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
		if got := groupMemory(read, c.groups); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if n := machineMemory(); n < 64<<20 || n == math.MaxInt64 {
		t.Errorf("this machine has %d bytes", n)
	}
}

// TestProcessesGoBeforeThisProgram: where memory is short, the kernel ends them first.
func TestProcessesGoBeforeThisProgram(t *testing.T) {
	cmd := exec.Command("cat", "/proc/self/oom_score_adj")
	g, err := newGate(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args[:1], "/proc/self/fd/3", "/proc/self/oom_score_adj")
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := limit(cmd.Process.Pid, Limits{Memory: 1 << 30, CPU: 10e9, File: 1 << 20}, 1<<30, niceLong); err != nil {
		t.Error(err)
	}
	g.open()
	if err := cmd.Wait(); err != nil || out.String() != oomScore+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if own, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || string(own) == out.String() {
		t.Errorf("this program has %q, %v", own, err)
	}
}
