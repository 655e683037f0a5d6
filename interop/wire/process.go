package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryOf is what /proc tells of a process under that name, in bytes: VmRSS is the memory now, VmHWM the most so far. It is 0
// where there is no such process.
func MemoryOf(pid int, name string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, name+":"); ok {
			var kB int64
			_, _ = fmt.Sscan(v, &kB)
			return kB << 10
		}
	}
	return 0
}

// Descendants are the processes that a process has started, and that these have.
func Descendants(of int) (pids []int) {
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if f := strings.Fields(rest); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	for pid := range parents {
		for p := parents[pid]; p != 0; p = parents[p] {
			if p == of {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
