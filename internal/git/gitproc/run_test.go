package gitproc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestWhatGitIsTold(t *testing.T) {
	for _, name := range []string{"GIT_DIR", "GIT_TRACE", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "LD_PRELOAD_X", "http_proxy", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "/from/outside")
	}
	program := filepath.Join(t.TempDir(), "git")
	executable(t, program, `#!/bin/sh
for last; do :; done
case "$*" in *" version "*) echo git version 2.39.5; exit;; *" -e "*) exit 1;; esac
printf '%s\n' "$@"; echo ====; /usr/bin/env; echo "PWD $PWD"`)
	g := open(t, gitproc.Config{Program: program})
	told := func(c gitproc.Command, r gitproc.Run) (args, env []string) {
		t.Helper()
		var out bytes.Buffer
		r.Out = &out
		if err := g.Run(t.Context(), c, r); err != nil {
			t.Fatal(err)
		}
		a, e, _ := strings.Cut(out.String(), "\n====\n")
		return strings.Split(a, "\n"), strings.Split(e, "\n")
	}
	has := func(all []string, wanted ...string) {
		t.Helper()
		text := "\n" + strings.Join(all, "\n") + "\n"
		for _, w := range wanted {
			if !strings.Contains(text, "\n"+w+"\n") {
				t.Errorf("no %q in %q", w, all)
			}
		}
	}
	at := gitproc.Dirs{Repository: "/r/x", Objects: "/q/objects", Alternates: []string{"/r/x/objects", `/a:"b`}}
	args, env := told(gitproc.IndexPack(77), gitproc.Run{At: at, Protocol: 2})
	has(args, "-c\nprotocol.allow=never", "-c\ncore.hooksPath=/dev/null", "-c\nsafe.bareRepository=explicit", "-c\nsafe.directory=/r/x",
		"-c\npack.threads=1", "-c\nuploadpack.allowAnySHA1InWant=false", "--stdin\n--fix-thin", "--max-input-size=77")
	has(env, "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_DIR=/r/x", "GIT_OBJECT_DIRECTORY=/q/objects", "TMPDIR=/q/objects",
		`GIT_ALTERNATE_OBJECT_DIRECTORIES="/r/x/objects":"/a:\"b"`, "GIT_PROTOCOL=version=2", "GIT_CEILING_DIRECTORIES=/r", "PWD /",
		"PATH="+filepath.Dir(program))
	for _, e := range env {
		if strings.Contains(e, "outside") {
			t.Errorf("%s is handed on", e)
		}
	}
	args, env = told(gitproc.UploadPack(false), gitproc.Run{At: gitproc.Dirs{Repository: "/r/x"}, Protocol: 7})
	has(args, "upload-pack", "--\n/r/x", "pack.useBitmaps=false", "--strict", "--stateless-rpc")
	if text := strings.Join(env, "\n"); strings.Contains(text, "GIT_DIR=") || strings.Contains(text, "GIT_PROTOCOL") {
		t.Errorf("got %q", env)
	}
	args, _ = told(gitproc.UploadPack(true), gitproc.Run{At: gitproc.Dirs{Repository: "/r/x"}})
	if strings.Contains(strings.Join(args, "\n"), "useBitmaps") {
		t.Errorf("got %q", args)
	}
	for want, filter := range map[string]gitwire.Filter{
		"--filter=blob:none": {Kind: gitwire.FilterBlobNone}, "--filter=blob:limit=7": {Kind: gitwire.FilterBlobLimit, Limit: 7},
		"--filter=tree:0": {Kind: gitwire.FilterTreeZero}, "-q": {},
	} {
		args, _ = told(gitproc.PackReachable(true, true, filter), gitproc.Run{})
		has(args, want, "--delta-base-offset", "--include-tag")
	}
	args, _ = told(gitproc.PackReachable(false, false, gitwire.Filter{}), gitproc.Run{})
	if text := strings.Join(args, " "); !strings.HasSuffix(text, "pack-objects --revs --stdout -q") {
		t.Errorf("got %q", text)
	}
	args, _ = told(gitproc.RepackAll(1234), gitproc.Run{})
	has(args, "--cruft\n--cruft-expiration=@1234 +0000", "pack.island=^refs/heads/")
	args, _ = told(gitproc.Archive(gitwire.ObjectID{}, "--../x"), gitproc.Run{})
	has(args, "archive\n--format=tar.gz\n--prefix=x/\n"+strings.Repeat("0", 40)+"^{commit}")
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"tool-v1.0": "tool-v1.0", "../../etc/passwd": "etc-passwd", "-rf": "rf", ".ssh": "ssh", "日本-v1": "日本-v1", "a\x00b\nc\\d:e": "a-b-c-d-e", "\xff": "files", "…": "files", "": "files",
		"a\u202eb": "a-b", strings.Repeat("x", 300): strings.Repeat("x", 100), "-.+_-": "files", "c++": "c++",
	} {
		if got := gitproc.Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Everything is pumped at once: neither a child that writes before it reads nor one that talks on stderr stands still.
func TestAllPipesAtOnce(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // more than all pipes hold
	var out bytes.Buffer
	err := misbehave(t, `
/usr/bin/head -c 300000 /dev/zero >&2
/usr/bin/head -c 300000 /dev/zero
/bin/cat
/usr/bin/head -c 300000 /dev/zero >&2`, gitproc.Run{In: bytes.NewReader(in), Out: &out})
	if err != nil || out.Len() != 300000+len(in) || !bytes.HasSuffix(out.Bytes(), in) {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

func TestWhatGitSaysIsBoundedAndPrintable(t *testing.T) {
	err := misbehave(t, `
echo "first /r/x/refs and /q/y" >&2
/usr/bin/head -c 1000000 /dev/zero | /usr/bin/tr '\0' '\33' >&2
printf '\nprogress\rmore\n\342\200\256\377 caf\303\251 last\n' >&2
exit 12`, gitproc.Run{At: gitproc.Dirs{Repository: "/r/x", Objects: "/q/y"}})
	var e *gitproc.Error
	if !errors.As(err, &e) || e.Ending != gitproc.Exited || e.Code != 12 || e.Command != "git rev-list" {
		t.Fatalf("%+v", err)
	}
	if n := len(e.Stderr); n < 8<<10 || n > 64<<10 {
		t.Errorf("%d bytes", n)
	}
	if !strings.HasPrefix(e.Stderr, "first repository/refs and objects\n") || !strings.HasSuffix(e.Stderr, "\nprogress\nmore\n\\u202e\\xff café last") ||
		!strings.Contains(e.Stderr, "…") || strings.ContainsRune(e.Stderr, '\x1b') || !utf8.ValidString(e.Stderr) {
		t.Errorf("%q … %q", e.Stderr[:60], e.Stderr[len(e.Stderr)-60:])
	}
	mentions(t, err, "git rev-list failed with code 12: first")
	if strings.Contains(err.Error(), "\n") {
		t.Error("an error of several lines")
	}
	err = misbehave(t, `echo one >&2; exit 1`, gitproc.Run{})
	if !errors.As(err, &e) || e.Stderr != "one" {
		t.Errorf("%+v", err)
	}
	err = misbehave(t, `/usr/bin/head -c 6000 /dev/zero | /usr/bin/tr '\0' a >&2; exit 1`, gitproc.Run{})
	if !errors.As(err, &e) || e.Stderr != strings.Repeat("a", 6000) {
		t.Errorf("%+v", err)
	}
}

// dead waits until no process has that number, or what has it only waits to be forgotten. It must not have come to its end.
func dead(t *testing.T, pidFile string) {
	t.Helper()
	if _, err := os.Stat(pidFile + ".over"); err == nil {
		t.Error("the process ended by itself")
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

// A process ends with its context, and so does all that it started, though it does not want to.
func TestTheContextEndsEverything(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	g := open(t, gitproc.Config{Program: script(t, `
trap '' TERM INT HUP
( trap '' TERM INT HUP; /bin/sleep 20; echo >`+pid+`.over ) &
echo $! >`+pid+`; echo begun
wait`)})
	err := g.Run(ctx, gitproc.Reach(), gitproc.Run{Out: writer(func(b []byte) (int, error) { cancel(cause); return len(b), nil })})
	if !errors.Is(err, cause) {
		t.Error(err)
	}
	dead(t, pid)
	if err := g.Run(ctx, gitproc.Reach(), gitproc.Run{}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if st := g.Stats(gitproc.Fetch); st.Running != 0 {
		t.Errorf("%+v", st)
	}
}

// What a process leaves behind ends with it, and does not hold up whoever waits for its output.
func TestNothingIsLeftBehind(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	var out bytes.Buffer
	err := misbehave(t, `( /bin/sleep 20; echo >`+pid+`.over ) & echo $! >`+pid+`; echo done`, gitproc.Run{Out: &out})
	if err != nil || out.String() != "done\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	dead(t, pid)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestWhoeverReadsOrWritesMayFail(t *testing.T) {
	broken := errors.New("broken")
	err := misbehave(t, `while :; do echo more; done`, gitproc.Run{Out: writer(func([]byte) (int, error) { return 0, broken })})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	mentions(t, err, "git rev-list: write: broken")
	err = misbehave(t, `/bin/sleep 20`, gitproc.Run{In: io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken))})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	mentions(t, err, "git rev-list: read: broken")
}

// A process that does not read what it is given is no failure of whoever gives.
func TestAProcessThatDoesNotRead(t *testing.T) {
	in := bytes.NewReader(make([]byte, 1<<20))
	if err := misbehave(t, `exit 0`, gitproc.Run{In: in}); err != nil {
		t.Error(err)
	}
	var e *gitproc.Error
	if err := misbehave(t, `exit 5`, gitproc.Run{In: in}); !errors.As(err, &e) || e.Code != 5 {
		t.Error(err)
	}
	if err := misbehave(t, `read x && exit 1; exit 0`, gitproc.Run{}); err != nil {
		t.Errorf("without input: %v", err)
	}
}

// Who asks on while a process answers is told when it has ended, so that nothing waits for their next question.
func TestWhoAsksOnHearsOfTheEnd(t *testing.T) {
	for end, code := range map[string]int{"exit 0": 0, "exit 5": 5, "kill -9 $$": -1} {
		in, question := io.Pipe()
		var out bytes.Buffer
		go func() { _, _ = question.Write([]byte("x\n")) }()
		late := time.AfterFunc(20*time.Second, func() { _ = question.CloseWithError(errors.New("nobody heard")) })
		err := misbehave(t, `read x; echo "$x"; `+end, gitproc.Run{In: in, Out: &out, Ended: func() { _ = question.Close() }})
		var e *gitproc.Error
		if !late.Stop() || out.String() != "x\n" || (err == nil) != (code == 0) || code > 0 && (!errors.As(err, &e) || e.Code != code) {
			t.Errorf("%s: %q, %v", end, out.String(), err)
		}
	}
}

// Nobody waits for a slot who does not want to.
func TestAtOnce(t *testing.T) {
	g := open(t, gitproc.Config{Program: script(t, `read x`), Fetches: 1})
	in, question := io.Pipe()
	first := make(chan error, 1)
	go func() { first <- g.Run(t.Context(), gitproc.Reach(), gitproc.Run{In: in, AtOnce: true}) }()
	if _, err := question.Write([]byte("x")); err != nil { // it runs
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := g.Run(ctx, gitproc.Reach(), gitproc.Run{AtOnce: true}); !errors.Is(err, gitproc.ErrBusy) {
		t.Error(err)
	}
	if err := question.Close(); err != nil {
		t.Fatal(err)
	}
	<-first
	if err := g.Run(t.Context(), gitproc.Reach(), gitproc.Run{In: strings.NewReader("x\n"), AtOnce: true}); err != nil {
		t.Error(err)
	}
}

// TestAProcessGivesWay: it ends, with all that it started, and its party hears why.
func TestAProcessGivesWay(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "runs")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	g := open(t, gitproc.Config{Program: script(t, "echo >"+fifo+"; while :; do /bin/sleep 60; done"), Fetches: 1})
	ended := make(chan error, 1)
	go func() { ended <- g.Run(t.Context(), gitproc.Reach(), gitproc.Run{Party: "a"}) }()
	if _, err := os.ReadFile(fifo); err != nil { // it runs
		t.Fatal(err)
	}
	g.Press(gitproc.Fetch, "a") // nobody gives way to themselves
	if len(ended) > 0 {
		t.Error("it has ended")
	}
	g.Press(gitproc.Fetch, "b")
	err := <-ended
	if !errors.Is(err, gitproc.ErrGaveWay) || !errors.Is(err, gitproc.ErrBusy) {
		t.Error(err)
	}
	mentions(t, err, "others waited")
	if s := g.Stats(gitproc.Fetch); s.Running != 0 || s.Ended != 1 {
		t.Errorf("%+v", s)
	}
}
