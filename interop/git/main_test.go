package git

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

// Set by TestMain before any test runs.
var (
	binary string // the graspd under test
	gogit  string // the client of go-git
	tools  string // where make clients has installed the others
)

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graspd-clients")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if tools, err = filepath.Abs("../.build/clients"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary, gogit = filepath.Join(dir, "graspd"), filepath.Join(dir, "gogit")
	for _, args := range [][]string{{"-C", "../..", "-o", binary, "./cmd/graspd"}, {"-o", gogit, "./gogit"}} {
		build := exec.Command("go", append([]string{"build"}, args...)...)
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, build, err)
			return 1
		}
	}
	return m.Run()
}
