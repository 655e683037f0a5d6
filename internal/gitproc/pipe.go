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

// printed is the pipe that a process prints into. Go's poller does not know it, as every piece that is written would wake that.
type printed struct{ read, write *os.File }

// newPrinted has a process that is to be started print into a pipe.
func newPrinted(cmd *exec.Cmd) (printed, error) {
	var ends [2]int
	syscall.ForkLock.RLock() // until no process that is started at the same time can have the ends
	err := unix.Pipe(ends[:])
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return printed{}, fmt.Errorf("pipe: %w", err)
	}
	enlarge(ends[0])
	p := printed{os.NewFile(uintptr(ends[0]), "what git prints"), os.NewFile(uintptr(ends[1]), "what git prints")}
	cmd.Stdout = p.write
	return p, nil
}

// started leaves the pipe's other end to the process alone.
func (p printed) started() { _ = p.write.Close() }

// close gives the pipe back. Nobody reads any more.
func (p printed) close() {
	_, _ = p.read.Close(), p.write.Close() // nothing is lost with it
}

// readable waits for so long until there is something to be read of a pipe, or its end.
func readable(pipe *os.File, wait time.Duration) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(wait.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil // the read tells what is wrong
		}
	}
}
