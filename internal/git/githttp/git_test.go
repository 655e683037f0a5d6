package githttp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// environment is one in which git behaves alike everywhere.
func environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
}

// git runs git in dir and gives what it prints.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	out, errs, err := tryGit(dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, errs)
	}
	return out
}

func tryGit(dir, stdin string, args ...string) (out, errs string, err error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// emptyRepository is a bare one whose HEAD names a branch that there is not.
func emptyRepository(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	git(t, "", "", "init", "-q", "--bare", "-b", "trunk", dir)
	return dir
}

// history fills a repository: so many commits on trunk, each with a file of that many random bytes, and an annotated tag v1.
func history(t testing.TB, dir string, commits, bytes int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	for i := range commits {
		fmt.Fprintf(&in, "commit refs/heads/trunk\nmark :%d\ncommitter a <a@example.org> %d +0000\ndata 1\n.", i+1, 1700000000+i)
		fmt.Fprintf(&in, "\nM 644 inline f%d\ndata %d\n%s\n", i, bytes, noise(r, bytes))
	}
	fmt.Fprintf(&in, "tag v1\nfrom :%d\ntagger a <a@example.org> 1700000000 +0000\ndata 1\nt\n", commits)
	git(t, dir, in.String(), "fast-import", "--quiet", "--force")
}

func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// refsOf reads the refs as git tells them.
func refsOf(t testing.TB, dir string) *gitwire.Refs {
	t.Helper()
	refs := &gitwire.Refs{Head: strings.TrimSpace(git(t, dir, "", "symbolic-ref", "HEAD"))}
	for line := range strings.Lines(git(t, dir, "", "for-each-ref", "--format=%(objectname) %(refname) %(*objectname)")) {
		f := strings.Fields(line)
		ref := gitwire.Ref{Name: f[1], ID: mustID(t, f[0])}
		if len(f) > 2 {
			ref.Peeled = mustID(t, f[2])
		}
		refs.List = append(refs.List, ref)
	}
	refs.Sort()
	return refs
}

func mustID(t testing.TB, text string) gitwire.ObjectID {
	t.Helper()
	id, err := gitwire.ParseObjectID(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}
