package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// Without a terminal the demo ends by itself and says what came of it.
func TestDemoEndsByItself(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	t.Parallel()
	out, errs := newOutput(), newOutput()
	if code := run(t.Context(), []string{"demo"}, stdio{strings.NewReader(""), out, errs}, noEnv); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"public page                     http://127.0.0.1:", "\ncomplete: your relay has all ", " and the 6 repositories, after ", "\nA maintainer pushes a commit to ", "  has it after ", "on north", "on south", "on flaky",
		", by catching up\n", "\nYour relay has all ", "\ngit clone http://127.0.0.1:", " commits that were pushed, after ", "All relays have stopped",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.ContainsAny(out.String(), "\r\x1b█") {
		t.Error("lines are drawn again where the output is no terminal")
	}
}

func TestDemoStaysUntilInterrupt(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	t.Parallel()
	r := start(t, "demo", "--stay")
	url := r.out.await(t, `git clone (http://127\.0\.0\.1:\S+/npub1\S+\.git)`)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "-q", url, clone)
	if n := git(t, clone, "rev-list", "--count", "HEAD"); n != "20" && n != "21" { // a maintainer pushes one while the demo goes on
		t.Errorf("the clone has %s commits", n)
	}
	r.out.await(t, `on north`)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(r.out.String(), "data is removed") {
		t.Errorf("it says nothing at its end:\n%s", r.out)
	}
}

func TestDemoTakesNoNonsense(t *testing.T) {
	for _, args := range [][]string{{"demo", "now"}, {"demo", "--once", "--stay"}} {
		if code := run(t.Context(), args, stdio{strings.NewReader(""), io.Discard, io.Discard}, noEnv); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

func TestDemoNeedsGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	code, _, errs := call(t, "", nil, "demo")
	if code != exitFail || !strings.Contains(errs, "git is not there") || !strings.Contains(errs, "install git") || strings.Contains(errs, "--git") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
