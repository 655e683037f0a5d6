package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds what a test waits for; it is no measure of anything.
const patience = 5 * time.Minute

// binary is the graspd under test. TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graspd-interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "graspd")
	build := exec.Command("go", "build", "-C", "..", "-o", binary, "./cmd/graspd")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build graspd:", err)
		return 1
	}
	return m.Run()
}

// until tries a condition again and again until it holds or the time is up, and reports which.
func until(limit time.Duration, holds func() bool) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return holds()
		}
	}
	return true
}
