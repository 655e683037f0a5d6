package compliance

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// free is an address on loopback at which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts graspd for as long as the test runs, and returns its address.
func serve(t *testing.T) (at string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "graspd")
	at = free(t)
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/graspd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var log bytes.Buffer
	relay := exec.Command(program, "serve", "--git", "--contributors", "--sync=false", "--listen", at, "--domain", at, "--admin-listen", "", "--data", filepath.Join(dir, "data"))
	relay.Stdout, relay.Stderr = &log, &log
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(relay.Process.Signal(os.Interrupt), relay.Wait()); err != nil {
			t.Errorf("graspd: %v\n%s", err, log.String())
		}
	})
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return at
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}
