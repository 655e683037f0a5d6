package gitrepo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// importing makes commits by the words of git fast-import.
func (c *clone) importing(format string, args ...any) {
	c.t.Helper()
	c.git(fmt.Appendf(nil, "feature done\n"+format+"done\n", args...), "fast-import", "--quiet", "--force")
}

func called(name string) func([]string) string {
	return func(names []string) string {
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return n
			}
		}
		return ""
	}
}

// A page learns of one process what a file holds, and when tips were committed.
func TestLook(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	text := strings.Repeat("line of the file\n", 2000)
	c.importing(`commit refs/heads/main
committer a <a@example.com> 1600000000 -0500
data 5
first
M 644 inline ReadMe
data %d
%s
M 755 inline run
data 4
#!/x
M 644 inline empty
data 0

M 120000 inline link
data 6
ReadMe
M 644 inline directory/ReadMe.md
data 3
sub

commit refs/heads/wordy
committer a <a@example.com> 1600000001 +0000
data 40000
%s
from refs/heads/main

`, len(text), text, strings.Repeat("x", 40000))
	main, wordy, tree := c.id("main"), c.id("wordy"), c.id("main^{tree}")
	tag := c.tag("v1", main)
	c.git(nil, "update-ref", "refs/tags/tree", tree.String())
	blob := parse(t, c.git([]byte("tree x\ncommitter a <a@example.com> 5 +0000\n"), "hash-object", "-w", "--stdin"))
	c.git(nil, "update-ref", "refs/tags/blob", blob.String())
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{main, wordy, tag, tree, blob}})
	absent := parse(t, strings.Repeat("e", 40))
	tips := ids{main, wordy, tag, tree, blob, absent, main}
	for name, want := range map[string]string{"readme": text, "run": "#!/x", "empty": "", "link": "-", "directory": "-", "nothing": "-"} {
		got, err := d.Look(t.Context(), some(1), gitrepo.Looking{Commit: main, Choose: called(name), MaxBytes: 1 << 20, Tips: tips})
		if err != nil {
			t.Fatal(err)
		}
		if (want == "-") != (got.Name == "") || want != "-" && string(got.Text) != want || got.Large {
			t.Errorf("%s: %q, %d bytes", name, got.Name, len(got.Text))
		}
		if want := map[gitwire.ObjectID]int64{main: 1600000000}; !maps.Equal(got.Times, want) {
			t.Errorf("times %v", got.Times)
		}
	}
	for n, large := range map[int64]bool{int64(len(text)): false, int64(len(text) - 1): true, 0: true} {
		got, err := d.Look(t.Context(), some(1), gitrepo.Looking{Commit: main, Choose: called("ReadMe"), MaxBytes: n})
		if err != nil || got.Large != large || got.Name != "ReadMe" || large != (len(got.Text) == 0) {
			t.Errorf("at most %d bytes: %v, %d, %v", n, got.Large, len(got.Text), err)
		}
	}
	for what, id := range map[string]gitwire.ObjectID{"a commit that is not here": absent, "none": {}, "a blob": c.id("main:run")} {
		got, err := d.Look(t.Context(), some(1), gitrepo.Looking{Commit: id, Choose: called("run"), MaxBytes: 9, Tips: ids{main}})
		if err != nil || got.Name != "" || len(got.Times) != 1 {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if got, err := d.Look(t.Context(), some(9), gitrepo.Looking{}); err != nil || got.Name != "" {
		t.Errorf("asked for nothing: %v", err)
	}
	if _, err := d.Look(t.Context(), some(9), gitrepo.Looking{Tips: ids{main}}); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("of nothing: %v", err)
	}
}

// A file may be chosen in another directory than the uppermost, and a link may be followed within the repository.
func TestLookElsewhere(t *testing.T) {
	d, _ := disk(t)
	c := newClone(t)
	c.importing(`commit refs/heads/main
committer a <a@example.com> 1600000000 -0500
data 5
first
M 644 inline docs/readme.md
data 7
in docs
M 644 inline docs/above
data 5
lower
M 644 inline docs/a/deep.md
data 4
deep
M 120000 inline docs/up
data 8
../above
M 644 inline above
data 5
above
M 120000 inline down
data 22
./docs//a/../a/deep.md
M 120000 inline docs/out
data 16
../../etc/passwd
M 120000 inline docs/fixed
data 10
/readme.md
M 120000 inline absolute
data 6
/above
M 120000 inline around
data 13
../d/../above
M 120000 inline directory
data 4
docs
M 120000 inline nowhere
data 4
none
M 120000 inline self
data 1
.
M 120000 inline again
data 7
./twice
M 120000 inline twice
data 7
docs/up
M 120000 inline out.md
data 16
../../etc/passwd
M 120000 inline loop.md
data 7
loop.md
M 120000 inline pool.md
data 8
.//again
M 120000 inline linked
data 4
docs
M 120000 inline through
data 16
linked/readme.md

`)
	main := c.id("main")
	push(t, d, some(1), c.pack(c.refs()...), gitrepo.Proving{Tips: ids{main}})
	for name, want := range map[string][2]string{
		"readme.md": {"docs/readme.md", "in docs"}, "up": {"docs/up", "above"}, "above": {"above", "above"}, "down": {"down", "deep"}, "deep.md": {}, "out": {}, "fixed": {}, "absolute": {}, "around": {}, "directory": {}, "nowhere": {}, "self": {},
		"twice": {"twice", "above"}, "pool.md": {"pool.md", "above"}, "loop.md": {}, "through": {},
	} {
		l := gitrepo.Looking{Commit: main, Choose: called(name), MaxBytes: 10, Elsewhere: []string{".github", "docs"}, Follow: true}
		got, err := d.Look(t.Context(), some(1), l)
		if err != nil || got.Name != want[0] || string(got.Text) != want[1] {
			t.Errorf("%s: %q %q, %v", name, got.Name, got.Text, err)
		}
	}
	// In place of links that lead nowhere the next best is read.
	for _, tt := range []struct{ best, want string }{{"out.md above", "above"}, {"loop.md out.md readme.md", "docs/readme.md"}, {"self nowhere out.md loop.md", ""}} {
		best := func(names []string) string {
			for name := range strings.FieldsSeq(tt.best) {
				if slices.Contains(names, name) {
					return name
				}
			}
			return ""
		}
		l := gitrepo.Looking{Commit: main, Choose: best, MaxBytes: 10, Elsewhere: []string{".github", "docs"}, Follow: true}
		if got, err := d.Look(t.Context(), some(1), l); err != nil || got.Name != tt.want || (tt.want == "") != (got.Text == nil) {
			t.Errorf("%s: %q %q, %v", tt.best, got.Name, got.Text, err)
		}
	}
	got, err := d.Look(t.Context(), some(1), gitrepo.Looking{Commit: main, Choose: called("down"), MaxBytes: 3, Follow: true})
	if err != nil || !got.Large || got.Text != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// Ten thousand tips are asked about by one process. Those beyond have no time.
func TestLookAtManyTips(t *testing.T) {
	d, c, first, tip := served(t)
	many := make(ids, 0, 10_000)
	for i := range 9_999 {
		many = append(many, parse(t, fmt.Sprintf("%040x", i+1)))
	}
	got, err := d.Look(t.Context(), some(1), gitrepo.Looking{Commit: tip, Choose: called("common"), MaxBytes: 1 << 20, Tips: append(many, tip, first)})
	if want := (map[gitwire.ObjectID]int64{tip: 1700000004}); err != nil || !maps.Equal(got.Times, want) {
		t.Errorf("times %v, %v", got.Times, err)
	}
	if want := c.git(nil, "cat-file", "blob", "main:common"); string(got.Text) != want {
		t.Errorf("%d bytes, want %d", len(got.Text), len(want))
	}
}

// A page never waits for git, nor for long, and neither for a git that says nonsense.
func TestLooksThatFail(t *testing.T) {
	_, c, _, tip := served(t)
	dir := tempDir(t)
	program := filepath.Join(tempDir(t), "git")
	how := filepath.Join(dir, "how")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(`#!/bin/sh
case "$*" in
*" cat-file --batch-command"*) read x; . `+how+`;;
*) exec `+real+` "$@";;
esac
`), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := gitproc.Open(t.Context(), gitproc.Config{Program: program, Fetches: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := openDisk(t, gitrepo.Config{Dir: dir, Git: g})
	push(t, other, some(1), c.pack(c.refs()...), gitrepo.Proving{Commits: ids{tip}})
	look := func(ctx context.Context) error {
		_, err := other.Look(ctx, some(1), gitrepo.Looking{Tips: ids{tip}})
		return err
	}
	for script, says := range map[string]string{"exit 0": "did not answer", "exit 3": "code 3", "echo nonsense; /bin/sleep 60": "nonsense", "kill -9 $$": "killed"} {
		if err := os.WriteFile(how, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := look(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", script, err)
		}
	}
	if err := os.WriteFile(how, []byte("echo >"+how+".runs; /bin/sleep 60"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- look(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(how + ".runs"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not run")
		}
	}
	soon, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	if err := look(soon); !errors.Is(err, gitproc.ErrBusy) {
		t.Errorf("where no slot is free: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
