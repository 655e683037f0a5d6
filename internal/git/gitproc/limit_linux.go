package gitproc

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// maxFiles is a limit of every process, beside Limits.
const maxFiles = 256 // open at once

// globalConfig is the file of settings that git reads before it does anything. It is the gate: an empty file whose end comes only when the
// process has its limits.
const globalConfig = "/proc/self/fd/3"

// gate holds a process up until it has its limits.
type gate struct{ read, write *os.File }

func newGate(cmd *exec.Cmd) (gate, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return gate{}, err
	}
	cmd.ExtraFiles = []*os.File{r} // the first of these gets number 3
	return gate{r, w}, nil
}

// open lets the process go on. Processes that it starts find the file at its end, and have its limits.
func (g gate) open() {
	_ = g.read.Close() // nothing was written
	_ = g.write.Close()
}

// limit gives a process its limits, with so many bytes of memory that it does not share, and makes it so much nicer than this program.
func limit(pid int, l Limits, memory int64, nicer int) error {
	bounds := []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_AS, uint64(l.Memory)},
		{unix.RLIMIT_DATA, uint64(memory)}, // all that it writes to; packs that it reads are not in it
		{unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second)},
		{unix.RLIMIT_FSIZE, uint64(l.File)},
		{unix.RLIMIT_NOFILE, maxFiles},
		{unix.RLIMIT_CORE, 0},
	}
	for _, b := range bounds {
		if err := bound(pid, b.resource, b.most); err != nil {
			return err
		}
	}
	sacrifice(pid)
	own, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	own = 20 - own // the system call returns 20 minus the nice value; Setpriority takes more than 19 as 19
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, own+nicer); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	return nil
}

// sacrifice has the kernel end a process before this program, where the machine has no memory left. It does what it can: /proc may be hidden.
func sacrifice(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(oomScore), 0)
}

// oomScore makes a process count as if it took half of the machine's memory more than it does.
const oomScore = "500"

// bound lowers how much a process may have of a resource. It never raises that: whoever started this program may have set less, and only root
// could raise it.
func bound(pid, resource int, most uint64) error {
	var has unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &has); err != nil {
		return fmt.Errorf("prlimit: %w", err)
	}
	to := unix.Rlimit{Cur: min(most, has.Cur), Max: min(most, has.Max)}
	if resource == unix.RLIMIT_CPU {
		to.Max = min(most+1, has.Max) // the first second too much sends SIGXCPU, by which the ending is known; the next one kills
	}
	if err := unix.Prlimit(pid, resource, &to, nil); err != nil {
		return fmt.Errorf("prlimit: %w", err)
	}
	return nil
}
