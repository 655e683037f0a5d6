package compliance

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// theirs is a program that make compliance has built.
func theirs(t *testing.T, name string) string {
	t.Helper()
	where, err := exec.Command("./install", "--where").Output()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(strings.TrimSpace(string(where)), name)
	if _, err := os.Stat(program); err != nil {
		t.Fatal("make compliance builds it first: ", err)
	}
	return program
}

var listens = regexp.MustCompile(`listens on ws://(\S+)`)

// serve starts graspd, with more flags, for as long as the test runs, and returns its address.
func serve(t *testing.T, more ...string) (at string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "graspd")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/graspd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var log bytes.Buffer
	args := []string{"serve", "--git", "--sync=false", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", filepath.Join(dir, "data")}
	relay := exec.Command(program, append(args, more...)...)
	relay.Stderr = &log
	out, err := relay.StdoutPipe()
	if err == nil {
		err = relay.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(relay.Process.Signal(os.Interrupt), relay.Wait()); err != nil {
			t.Errorf("graspd: %v\n%s", err, log.String())
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			return m[1]
		}
	}
	t.Fatal("graspd does not listen")
	return ""
}
