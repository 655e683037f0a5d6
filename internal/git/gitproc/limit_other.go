//go:build !linux

package gitproc

import "os/exec"

const globalConfig = "/dev/null"

// gate holds no process up, as none gets limits.
type gate struct{}

func newGate(*exec.Cmd) (gate, error) { return gate{}, nil }

func (gate) open() {}

// limit does nothing on systems that cannot limit a process from outside. There only the bytes that it reads, the slots and the context bound
// it.
func limit(int, Limits, int64, int) error { return nil }

// machineMemory is the memory of a small machine, as nobody tells it here.
func machineMemory() int64 { return 2 << 30 }
