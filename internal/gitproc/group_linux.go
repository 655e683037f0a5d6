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

// enlarge lets git print more while nobody reads. Where the system has no room for it the pipe is as it was.
func enlarge(pipe int) { _, _ = unix.FcntlInt(uintptr(pipe), unix.F_SETPIPE_SZ, 1<<20) }
