package wire

import (
	"fmt"
	"os"
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
