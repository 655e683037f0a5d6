package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "write what comes out into cases.txt; reasons that are missing have to be written by hand")
	only   = flag.String("only", "", "of the scripts, those whose name contains this")
)

const cases = "cases.txt"

// nobody is who runs git's tests where root runs these: git's do not serve anything as root.
const nobody = 65534

// place is where git's tests are run.
type place struct {
	dir   string // theirs and everybody's
	httpd string
	git   string // the directory of the machine's git
}

func newPlace(t *testing.T) place {
	t.Helper()
	installed, err := filepath.Abs("../../.build/clients/git")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(installed, "t/helper/test-tool")); err != nil {
		t.Fatalf("%v: make clients installs git's tests", err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(git, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if has, is := strings.TrimSpace(string(out)), "git version "+versionOf(t); has != is {
		t.Skipf("%s is installed: the cases are about %s, as source.txt and cases.txt name it", has, is)
	}
	dir, err := os.MkdirTemp("", "graspd-suite") // below it everybody finds the way, which they do not below t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stopAll(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p := place{dir, filepath.Join(dir, "httpd"), filepath.Dir(git)}
	do(t, "go", "build", "-o", p.httpd, "./httpd")
	do(t, "cp", "-r", filepath.Join(installed, "t"), filepath.Join(installed, "templates"), filepath.Join(installed, "GIT-BUILD-OPTIONS"), dir)
	if os.Getuid() == 0 {
		do(t, "chown", "-R", strconv.Itoa(nobody), dir)
	}
	return p
}

// versionOf is that of the source that the tests come from.
func versionOf(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("source.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), " git_")
	version, _, found := strings.Cut(rest, ".orig.tar")
	if !found {
		t.Fatalf("source.txt: %s", b)
	}
	return version
}

func do(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// stopAll ends what scripts that did not come to their end have left running.
func stopAll(t *testing.T, dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "httpd.pid" {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil {
			if pid, err := strconv.Atoi(string(b)); err == nil {
				t.Logf("left behind: %s: %v", path, syscall.Kill(pid, syscall.SIGKILL))
			}
		}
		return nil
	})
}

// given is how many ports there were.
var given int

// port is one that nobody listens on, below those that connections get: it stays free until a script listens on it.
func port(t *testing.T) int {
	t.Helper()
	for range 1000 {
		given++
		port := 10_000 + (os.Getpid()*100+given)%20_000
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// run runs a script and gives its cases, and what the server had to say.
func (p place) run(t *testing.T, name string) (all []one, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	logFile := filepath.Join(p.dir, name+".log")
	cmd := exec.CommandContext(ctx, "./"+name, "--root="+p.dir)
	cmd.Dir = filepath.Join(p.dir, "t")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_TEST_INSTALLED=" + p.git, "GIT_TEST_HTTPD=true",
		"LIB_HTTPD_PATH=" + p.httpd, "LIB_HTTPD_MODULE_PATH=" + p.dir, "HTTPD_LOG=" + logFile, "TEST_OUTPUT_DIRECTORY=" + p.dir,
		fmt.Sprint("LIB_HTTPD_PORT=", port(t)), fmt.Sprint("LIB_GIT_DAEMON_PORT=", port(t))}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) { // 1 is that cases fail
		t.Fatalf("%v\n%s", err, &out)
	}
	b, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return parse(out.String()), string(b)
}

// TestSuite runs git's tests, and compares with what is written down.
func TestSuite(t *testing.T) {
	p, all := newPlace(t), readCases(t, cases)
	for i := range all {
		s := &all[i]
		if !strings.Contains(s.name, *only) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			got, log := p.run(t, s.name)
			if strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
				t.Errorf("the server says\n%s", log)
			}
			if len(s.cases) > 0 {
				got = from(s.cases[0].title, got)
			}
			if *update {
				s.cases = reasoned(s.cases, got)
				return
			}
			for _, c := range s.cases {
				if c.outcome == "no" && c.reason == "" {
					t.Errorf("%s: no reason is written down", c.title)
				}
			}
			for _, w := range compare(s.cases, got) {
				t.Error(w)
			}
		})
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(cases, format(t, all), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// reasoned are cases with the reasons that were written down for them.
func reasoned(old, all []one) []one {
	for i := range all {
		for _, c := range old {
			if c.title == all[i].title && all[i].outcome == "no" {
				all[i].reason = c.reason
			}
		}
	}
	return all
}

// format writes cases as readCases reads them, below the comment that stands there.
func format(t *testing.T, all []script) []byte {
	t.Helper()
	old, err := os.ReadFile(cases)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for line := range strings.Lines(string(old)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	for _, s := range all {
		fmt.Fprintf(&b, "\n%s\n", s.name)
		for _, c := range s.cases {
			if b.WriteString(c.outcome + "\t" + c.title); c.outcome == "no" {
				b.WriteString("\t" + c.reason)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
