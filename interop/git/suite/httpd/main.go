// Command httpd stands where git's own tests of smart HTTP look for Apache (LIB_HTTPD_PATH): it serves the bare repositories below
// ROOT/www under /smart/ by githttp, and takes every push that git itself would take. It is for those tests alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/serve/front"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "httpd:", err)
		os.Exit(1)
	}
}

// run understands those of Apache's arguments that git's tests give.
func run(args []string) error {
	if slices.Contains(args, "-v") {
		fmt.Println("Server version: Apache/2.4.60") // lib-httpd.sh wants to know
		return nil
	}
	root, listen := after(args, "-d"), strings.TrimPrefix(after(args, "-c"), "Listen ")
	if root == "" {
		return errors.New("no -d ROOT")
	}
	switch after(args, "-k") {
	case "start":
		return start(root, listen)
	case "stop":
		return stop(root)
	case "serve":
		return serve(root)
	}
	return errors.New("no -k start and no -k stop")
}

// after is the argument that follows an option.
func after(args []string, option string) string {
	i := slices.Index(args, option)
	if i < 0 || i+1 >= len(args) {
		return ""
	}
	return args[i+1]
}

func pidFile(root string) string { return filepath.Join(root, "httpd.pid") }

// start leaves a process behind that serves what this one listens for.
func start(root, listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	errors := filepath.Join(root, "error.log")
	if elsewhere := os.Getenv("HTTPD_LOG"); elsewhere != "" {
		errors = elsewhere // and there when the script is over
	}
	log, err := os.OpenFile(errors, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	pid, err := os.OpenFile(pidFile(root), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(pid.Fd()), syscall.LOCK_EX); err != nil { // the process holds it as long as it lives
		return err
	}
	cmd := exec.Command(self, "-d", root, "-k", "serve")
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{f, pid}, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = pid.WriteString(strconv.Itoa(cmd.Process.Pid))
	return err
}

// stop ends that process, and returns when nobody listens any more.
func stop(root string) error {
	f, err := os.Open(pidFile(root))
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return os.Remove(pidFile(root))
}

// serve answers on the socket that it was started with, until it is killed.
func serve(root string) error {
	syscall.CloseOnExec(3) // what it starts holds neither the socket
	syscall.CloseOnExec(4) // nor the lock
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	git, err := gitproc.Open(context.Background(), gitproc.Config{})
	if err != nil {
		return err
	}
	cache := filepath.Join(root, "cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	access, err := os.OpenFile(filepath.Join(root, "access.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	h := &host{www: filepath.Join(root, "www"), git: git, shown: map[string]*shown{}}
	f := front.New(front.Config{Logger: log})
	f.Handle(githttp.New(githttp.Config{Front: f, Host: h, Packs: h, Taker: h, CacheDir: cache, CacheBytes: 1 << 20, Logger: log}).Route())
	f.Handle(front.Route{Serve: func(w http.ResponseWriter, r *http.Request, _ front.Client) { http.NotFound(w, r) }})
	server := f.Server()
	server.Handler = logged(access, oncePerl(root, below(server.Handler)))
	return server.Serve(f.Listener(l))
}
