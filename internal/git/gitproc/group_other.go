//go:build !linux

package gitproc

// rssUnit is the unit in which rusage counts memory, in bytes: 1 on macOS.
const rssUnit = 1

// awaitExit does nothing on systems where nobody can see the end of a process without waiting for it. git itself waits for what it starts.
func awaitExit(int) bool { return false }

// enlarge does nothing on systems where pipes have one size.
func enlarge(int) bool { return false }
