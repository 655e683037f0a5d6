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

// limit gives a process its limits, and makes it so much nicer than this program.
func limit(pid int, l Limits, nicer int) error {
	bounds := []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_AS, uint64(l.Memory)},
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
