package gitproc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// rssUnit is the unit in which rusage counts memory, in bytes.
const rssUnit = 1 << 10

// awaitExit returns when a process has ended. It reports whether the process keeps its number until somebody waits for it.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// enlarge lets git print more while nobody reads, and reports whether the system has room for that. Where there is none the pipe stays as it was.
func enlarge(pipe int) bool {
	_, err := unix.FcntlInt(uintptr(pipe), unix.F_SETPIPE_SZ, 1<<20)
	return err == nil
}
