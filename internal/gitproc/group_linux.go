package gitproc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// rssUnit is in what rusage counts memory.
const rssUnit = 1 << 10

// awaitExit returns when a process has ended, and reports whether its number stays its own until it is waited for.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
