package gitproc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
)

// The limits are in force once a process has read its configuration, for all that it starts.
func TestLimitsAreInForce(t *testing.T) {
	nice, err := exec.Command("/usr/bin/nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	var own int
	if _, err := fmt.Sscan(string(nice), &own); err != nil {
		t.Fatal(err)
	}
	const show = `echo $(ulimit -v) $(ulimit -d) $(ulimit -t) $(ulimit -f) $(ulimit -n) $(ulimit -c) $(/usr/bin/nice)`
	body := `read go <"$GIT_CONFIG_GLOBAL"; ` + show + `; read go <"$GIT_CONFIG_GLOBAL"; /bin/sh -c '` + show + `'`
	shows := func(g *gitproc.Git, r gitproc.Run, want string) {
		t.Helper()
		var out bytes.Buffer
		r.Out = &out
		if err := g.Run(t.Context(), gitproc.Reach(), r); err != nil {
			t.Fatal(err)
		}
		nicer := map[bool]int{true: 10}[r.Long]
		if r.Heavy {
			nicer = 15
		}
		want = fmt.Sprintln(want, min(own+nicer, 19))
		if out.String() != want+want {
			t.Errorf("got %q, want twice %q", out.String(), want)
		}
	}
	limits := gitproc.Limits{Memory: 300 << 20, CPU: 1500 * time.Millisecond, File: 1 << 20}
	g := open(t, gitproc.Config{Program: script(t, body), Limits: limits, Memory: 1 << 30})
	shows(g, gitproc.Run{}, "307200 131072 2 2048 256 0")
	shows(g, gitproc.Run{Heavy: true}, "307200 131072 2 2048 256 0")
	shows(g, gitproc.Run{Long: true}, "307200 131072 2 2048 256 0")
	shows(g, gitproc.Run{MaxFile: 512 << 10}, "307200 131072 2 1024 256 0")
	shows(g, gitproc.Run{CPU: 700 * time.Millisecond}, "307200 131072 1 2048 256 0")
	shows(g, gitproc.Run{CPU: 9 * time.Second}, "307200 131072 2 2048 256 0")
	shows(g, gitproc.Run{Reads: 20 << 20}, "307200 172032 2 2048 256 0")
	shows(g, gitproc.Run{Reads: 20 << 30}, "307200 307200 2 2048 256 0")
	g = open(t, gitproc.Config{Program: script(t, body), Memory: 8 << 30})
	shows(g, gitproc.Run{}, "1048576 262144 300 4194304 256 0")
	shows(g, gitproc.Run{Greedy: true}, "1048576 1048576 300 4194304 256 0")
}

func TestLimitsEndAProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for name, c := range map[string]struct {
		body string
		want gitproc.Ending
		text string
	}{
		"processor":             {`while :; do :; done`, gitproc.OutOfTime, "ran out of processor time"},
		"file":                  {`exec /bin/dd if=/dev/zero of=` + file + ` bs=4096 count=10`, gitproc.FileTooLarge, "wrote too large a file"},
		"memory":                {`echo "fatal: Out of memory, malloc failed (tried to allocate 99 bytes)" >&2; exit 128`, gitproc.OutOfMemory, "ran out of memory"},
		"memory, mapped":        {`echo "fatal: mmap failed: Cannot allocate memory" >&2; exit 128`, gitproc.OutOfMemory, "ran out of memory"},
		"processor, of a child": {`echo "error: pack-objects died of signal 24" >&2; exit 128`, gitproc.OutOfTime, "ran out of processor time"},
		"file, of a child":      {`echo "error: pack-objects died of signal 25" >&2; exit 128`, gitproc.FileTooLarge, "wrote too large a file"},
		"killed":                {`kill -9 $$`, gitproc.Killed, "was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, gitproc.Config{Program: script(t, "read go <\"$GIT_CONFIG_GLOBAL\"\n"+c.body), Limits: gitproc.Limits{CPU: time.Second, File: 8192}})
			err := g.Run(t.Context(), gitproc.Reach(), gitproc.Run{Kind: gitproc.Upload})
			var e *gitproc.Error
			if !errors.As(err, &e) || e.Ending != c.want {
				t.Fatalf("%v", err)
			}
			mentions(t, err, c.text)
			st := g.Stats(gitproc.Upload)
			byLimit := uint64(1)
			if c.want == gitproc.Killed {
				byLimit = 0
			}
			if st.Ended != 1 || st.Failed != 1 || st.ByLimit != byLimit || st.MaxMemory < 100<<10 || st.CPU <= 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestAFetchTakesTimeByItsRepository: a few bytes are no work for minutes, whoever asks for whatever.
func TestAFetchTakesTimeByItsRepository(t *testing.T) {
	g := open(t, gitproc.Config{Program: script(t, `read go <"$GIT_CONFIG_GLOBAL"; ulimit -t`)})
	for _, c := range []struct {
		run  gitproc.Run
		want string
	}{
		{gitproc.Run{Reads: 1}, "10"}, {gitproc.Run{Reads: 20 << 20}, "30"}, {gitproc.Run{Reads: 10 << 30}, "300"}, {gitproc.Run{}, "300"},
		{gitproc.Run{Reads: 20 << 20, CPU: 3 * time.Second}, "3"}, {gitproc.Run{Reads: 1, Kind: gitproc.Upload}, "300"},
	} {
		var out bytes.Buffer
		c.run.Out = &out
		if err := g.Run(t.Context(), gitproc.Reach(), c.run); err != nil || out.String() != c.want+"\n" {
			t.Errorf("%+v: %q, %v", c.run, out.String(), err)
		}
	}
}
