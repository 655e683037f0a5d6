package gitproc

import "syscall"

// ownGroup has a process begin a process group, so that everything that it starts can be ended with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
