//go:build !linux

package gitproc

// rssUnit is in what rusage counts memory: bytes on macOS.
const rssUnit = 1

// awaitExit does nothing where the end of a process cannot be seen without waiting for it. What git starts it waits for itself.
func awaitExit(int) bool { return false }

// enlarge does nothing where pipes have one size.
func enlarge(int) {}
