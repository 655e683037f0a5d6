package gitproc

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Of every process, beside Limits.
const maxFiles = 256 // open at once

// globalConfig is a file that git reads before it does anything. Here it is empty, and has no end until the process is bounded.
const globalConfig = "/proc/self/fd/3"

// gate holds a process up until it is bounded.
type gate struct{ read, write *os.File }

func newGate(cmd *exec.Cmd) (gate, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return gate{}, err
	}
	cmd.ExtraFiles = []*os.File{r} // the first one is number 3
	return gate{r, w}, nil
}

// open lets the process go on. What it starts finds the file at its end, and has its limits.
func (g gate) open() {
	_ = g.read.Close() // both were only held
	_ = g.write.Close()
}

// limit bounds a process, and makes it so much nicer than this program.
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
	own = 20 - own // the system call answers with what is never below 0, and takes more than 19 for 19
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, own+nicer); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	return nil
}

// bound lowers what a process may have of a resource. It may have less already, from whoever started this program, and only root
// could give it more.
func bound(pid, resource int, most uint64) error {
	var has unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &has); err != nil {
		return fmt.Errorf("prlimit: %w", err)
	}
	to := unix.Rlimit{Cur: min(most, has.Cur), Max: min(most, has.Max)}
	if resource == unix.RLIMIT_CPU {
		to.Max = min(most+1, has.Max) // the first second too much is a signal of its own, the next one ends everybody
	}
	if err := unix.Prlimit(pid, resource, &to, nil); err != nil {
		return fmt.Errorf("prlimit: %w", err)
	}
	return nil
}
