package gitproc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
)

// git finds objects in directories of any name, and only in those that it is told.
func TestAlternatesOfAnyName(t *testing.T) {
	g := open(t, gitproc.Config{})
	var dirs []string
	var ids, want string
	for _, name := range []string{"plain", `a:b`, `"quoted"`, "back\\slash", "new\nline", "ünïcode \x01\xff"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		hash := exec.Command("git", "--git-dir="+dir, "hash-object", "-w", "--stdin")
		hash.Stdin = strings.NewReader(name)
		id, err := hash.Output()
		if err != nil {
			t.Fatal(err)
		}
		dirs, ids, want = append(dirs, dir), ids+string(id), want+fmt.Sprintln(len(name))
	}
	at := gitproc.Dirs{Repository: dirs[0]}
	for _, dir := range dirs[1:] {
		at.Alternates = append(at.Alternates, filepath.Join(dir, "objects"))
	}
	var out bytes.Buffer
	if err := g.Run(t.Context(), gitproc.Measure(), gitproc.Run{At: at, In: strings.NewReader(ids), Out: &out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	at.Alternates = at.Alternates[1:]
	out.Reset()
	if err := g.Run(t.Context(), gitproc.Measure(), gitproc.Run{At: at, In: strings.NewReader(ids), Out: &out}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), " missing") != 1 {
		t.Errorf("got %q", out.String())
	}
}
