package gitproc

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory returns how many bytes of memory the machine has, or this program's control group where that has less.
func machineMemory() int64 {
	total := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without it, only the limit of the group at the top counts
	return min(total, groupMemory(os.ReadFile, string(groups)))
}

// groupMemory returns the smallest limit of the control groups that /proc/self/cgroup names, and of those above them (cgroups(7)).
func groupMemory(read func(string) ([]byte, error), groups string) int64 {
	least := int64(math.MaxInt64)
	look := func(file string) {
		b, err := read(file)
		n, bad := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is none
		if err == nil && bad == nil && n > 0 {
			least = min(least, n)
		}
	}
	up := func(root, group, file string) {
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			look(root + path.Join(dir, file))
			if dir == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(groups + "0::/\n1:memory:/\n") {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch controllers {
		case "":
			up("/sys/fs/cgroup", group, "memory.max")
		case "memory":
			up("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
		}
	}
	return least
}
