package gitproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// printed is the pipe that a process prints into. Go's poller does not know the pipe, as every piece that git writes would wake the poller.
type printed struct {
	read, write *os.File
	large       bool // so that git seldom finds the pipe full between two looks into it
	prompt      bool // see Run.Prompt
}

// newPrinted makes a pipe for a process that has not started yet to print into. The caller calls started after the start, and close.
func newPrinted(cmd *exec.Cmd) (printed, error) {
	var ends [2]int
	syscall.ForkLock.RLock() // until no process that starts at the same time can inherit the ends
	err := unix.Pipe(ends[:])
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return printed{}, fmt.Errorf("pipe: %w", err)
	}
	p := printed{os.NewFile(uintptr(ends[0]), "what git prints"), os.NewFile(uintptr(ends[1]), "what git prints"), enlarge(ends[0]), false}
	cmd.Stdout = p.write
	return p, nil
}

// started leaves the end for writing to the process alone.
func (p printed) started() { _ = p.write.Close() }

// close closes the pipe, when nobody reads any more.
func (p printed) close() {
	_, _ = p.read.Close(), p.write.Close() // nothing that counts is left in it
}

// readable waits at most so long, and reports whether there is something to read in a pipe, or its end.
func readable(pipe *os.File, wait time.Duration) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(wait.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil // the read will tell what is wrong
		}
	}
}
