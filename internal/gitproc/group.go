package gitproc

import "syscall"

// ownGroup lets a process begin a group, so that all that it starts ends with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
