package gitproc

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// git reads what holds it up until its limits are in force, and goes on when it may.
func TestGitWaitsForItsLimits(t *testing.T) {
	g, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p, err := g.prepare(t.Context(), version(), Run{Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !reads(p.cmd.Process.Pid); {
		if time.Now().After(deadline) {
			t.Error("git does not read what is to hold it up")
			break
		}
	}
	p.gate.open()
	if err := p.live(); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("git version")) {
		t.Errorf("%q, %v", out.Bytes(), err)
	}
}

// reads reports whether a process has opened the pipe of number 3 once more.
func reads(pid int) bool {
	links := map[string]int{}
	for fd := range 10 {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err == nil {
			links[to]++
		}
	}
	pipe, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", pid))
	return err == nil && links[pipe] > 1
}
