package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
)

// engine are the packages whose tests have to notice a fault in what fills the
// relay, in this order: the quickest tests first.
var engine = []string{"./internal/plan", "./internal/relaysync", "./internal/sim"}

// packages are those whose tests are asked in turn: first those beside what
// keeps events safe on disk.
func (f fault) packages() []string {
	switch dir := "./" + path.Dir(f.file); dir {
	case "./internal/store":
		return append([]string{dir}, engine...)
	case "./cmd/graspd":
		return []string{dir}
	}
	return engine
}

// plant runs the tests that match with the fault in place and returns the
// package and test that failed first; "" when none did. The sources stay as
// they are.
func (f fault) plant(ctx context.Context, root, tests string) (string, error) {
	changed, err := f.apply(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "graspd-mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := f.overlay(root, dir, changed)
	if err != nil {
		return "", err
	}
	for _, p := range f.packages() {
		cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count=1", "-failfast", "-vet=off", "-ldflags=-s -w", "-timeout=5m", "-run", tests, p)
		cmd.Dir = root
		printed, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if by := culprit(string(printed)); by != "" {
			return path.Base(p) + "." + by, nil
		}
		return "", fmt.Errorf("go test %s fails without a failing test: %w\n%s", p, err, printed)
	}
	return "", nil
}

// overlay writes the changed file and what tells the compiler to read it instead.
func (f fault) overlay(root, dir, changed string) (string, error) {
	original, err := filepath.Abs(filepath.Join(root, f.file))
	if err != nil {
		return "", err
	}
	replacement, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(replacement, []byte(changed), 0o600), os.WriteFile(overlay, b, 0o600))
}

var (
	failed  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^\s+(Test\w+) \(\d`) // what ran when the time was up
	onStack = regexp.MustCompile(`graspd/internal/\w+\.(Test\w+)`)
)

// culprit finds the name of the test that failed, panicked or hung.
func culprit(printed string) string {
	for _, r := range []*regexp.Regexp{failed, running, onStack} {
		if m := r.FindStringSubmatch(printed); m != nil {
			return m[1]
		}
	}
	return ""
}
