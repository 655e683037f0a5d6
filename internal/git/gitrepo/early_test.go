package gitrepo_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestAWrongGuessRunsAgain: where git runs into a limit that was only a guess, it runs once more with the most that such work may have, so that the
// client gets its pack, unless something was written. What runs into that too is no wrong guess.
func TestAWrongGuessRunsAgain(t *testing.T) {
	const memory, clock = "echo 'fatal: Out of memory, malloc failed' >&2; exit 128", "kill -XCPU $$"
	for name, c := range map[string]struct {
		each []string // what git does each time; "" is its work
		ends []string // how the fetches end
	}{
		"memory, once":             {[]string{memory, ""}, []string{"served"}},
		"memory, twice":            {[]string{memory, memory}, []string{"git pack-objects ran out of memory"}},
		"memory, remembered":       {[]string{memory, "", memory}, []string{"served", "git pack-objects ran out of memory"}},
		"memory, in the middle":    {[]string{"echo PACK; " + memory}, []string{"early: git pack-objects ran out of memory"}},
		"all time":                 {[]string{clock}, []string{"git pack-objects ran out of processor time"}},
		"less time":                {[]string{clock, clock, ""}, []string{"git pack-objects ran out of processor time", "served"}},
		"less time, and all of it": {[]string{clock, clock, clock, clock}, []string{"git pack-objects ran out of processor time", "git pack-objects ran out of processor time", "early: git pack-objects ran out of processor time"}},
		"other":                    {[]string{"exit 3"}, []string{"git pack-objects failed with code 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl, _, _ := served(t)
			dir := t.TempDir()
			d := openDisk(t, gitrepo.Config{Dir: tempDir(t), Git: each(t, dir, c.each)})
			push(t, d, some(1), cl.pack(cl.refs()...), gitrepo.Proving{Tips: ids{cl.id("main")}})
			for i := range c.each {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range c.ends {
				var out bytes.Buffer
				err := d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{cl.id("main")}}, "somebody", &out)
				if got := ended(err); !strings.HasPrefix(got, want) {
					t.Errorf("fetch %d: %s", i, got)
				}
				if err == nil && len(unpacked(t, cl, out.Bytes())) == 0 {
					t.Errorf("fetch %d got nothing", i)
				}
			}
			if left := len(entries(t, dir)) - 1; left != 0 {
				t.Errorf("%d runs too few", left)
			}
		})
	}
}

// ended says how a fetch ended.
func ended(err error) string {
	var failed *gitproc.Error
	switch {
	case err == nil:
		return "served"
	case errors.As(err, &failed) && failed.Early:
		return "early: " + failed.Error()
	case errors.As(err, &failed):
		return failed.Error()
	}
	return err.Error()
}

// each returns a git that does what the texts say when it is to make a pack, each once, while the file with its number is in the directory.
func each(t *testing.T, dir string, texts []string) *gitproc.Git {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	rm, err := exec.LookPath("rm")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "git")
	text := "#!/bin/sh\nread go <\"$GIT_CONFIG_GLOBAL\" # it has its limits now\ncase \"$*\" in *pack-objects*)\n"
	for i, x := range texts {
		mark := filepath.Join(dir, fmt.Sprint(i))
		if x == "" {
			x = fmt.Sprintf("exec %s \"$@\"", git)
		}
		text += fmt.Sprintf("if [ -f %s ]; then %s %s; %s; fi\n", mark, rm, mark, x)
	}
	text += fmt.Sprintf("esac\nexec %s \"$@\"\n", git)
	syscall.ForkLock.RLock() // no process is started that would have the program open
	err = os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
