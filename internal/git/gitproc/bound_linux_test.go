package gitproc

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever starts this program may bound it and put it back; then its processes are not let have more, which only root could do.
func TestLimitsOnlyLower(t *testing.T) {
	for _, c := range []struct{ nice, want int }{{0, 10}, {7, 17}, {18, 19}, {19, 19}} {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe() // it lives until this is closed
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		set := func(resource int, to unix.Rlimit) {
			t.Helper()
			if err := unix.Prlimit(pid, resource, &to, nil); err != nil {
				t.Fatal(err)
			}
		}
		has := func(resource int) (l unix.Rlimit) {
			t.Helper()
			if err := unix.Prlimit(pid, resource, nil, &l); err != nil {
				t.Fatal(err)
			}
			return l
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, pid, c.nice); err != nil {
			t.Skip("this test is niced itself: ", err)
		}
		less, part, cpu := unix.Rlimit{Cur: 64, Max: 64}, unix.Rlimit{Cur: 1 << 20, Max: 4 << 30}, unix.Rlimit{Cur: 10, Max: 10}
		set(unix.RLIMIT_NOFILE, less)
		set(unix.RLIMIT_FSIZE, part)
		set(unix.RLIMIT_CPU, cpu)
		if err := limit(pid, Limits{Memory: 1 << 30, CPU: 10e9, File: 2 << 30}, 1<<30, niceLong); err != nil {
			t.Error(err)
		}
		if got := has(unix.RLIMIT_NOFILE); got != less {
			t.Errorf("files: %+v", got)
		}
		if got := has(unix.RLIMIT_FSIZE); got != (unix.Rlimit{Cur: 1 << 20, Max: 2 << 30}) {
			t.Errorf("sizes of files: %+v", got)
		}
		if got := has(unix.RLIMIT_CPU); got != cpu {
			t.Errorf("processor: %+v", got)
		}
		if got, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err != nil || 20-got != c.want {
			t.Errorf("%d above %d: %v", 20-got, c.nice, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
