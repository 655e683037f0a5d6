package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a directory of a contributor, looked at with the machine's git.
type repo struct {
	t   *testing.T
	dir string
}

// environment is that of a contributor without settings.
func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=/nonexistent", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"NODE_MODULES="+filepath.Join(tools, "node_modules"))
}

// git runs the machine's git in the directory, with an input.
func (r repo) git(input string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, environment(), strings.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s%s", cmd, err, out, &errs)
	}
	return strings.TrimSpace(string(out))
}

// id is that of an expression.
func (r repo) id(expression string) string { r.t.Helper(); return r.git("", "rev-parse", expression) }

// refs are those below the names, a line with a name and an id each, sorted.
func (r repo) refs(names ...string) string {
	r.t.Helper()
	return r.git("", append([]string{"for-each-ref", "--format=%(refname) %(objectname)"}, names...)...)
}

// refsAt are the heads and tags at a URL, as refs of a repository are written.
func (r repo) refsAt(url string) string {
	r.t.Helper()
	var out []string
	for line := range strings.Lines(r.git("", "ls-remote", "--refs", url)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		out = append(out, name+" "+id)
	}
	return strings.Join(out, "\n")
}

// whole requires that all is there that the refs lead to.
func (r repo) whole() { r.t.Helper(); r.git("", "fsck", "--full", "--strict") }

// commits is how many there are up to an expression.
func (r repo) commits(expression string) string {
	r.t.Helper()
	return r.git("", "rev-list", "--count", expression)
}

// commit makes a commit on the branch that is checked out, with a file of that content.
func (r repo) commit(name, content string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("", "add", name)
	r.git("", "commit", "-q", "-m", name)
	return r.id("HEAD")
}

// seed is a repository with two branches, a merge, a tag and files of many sizes.
func seed(t *testing.T) repo {
	t.Helper()
	r := repo{t, filepath.Join(t.TempDir(), "seed")}
	repo{t, filepath.Dir(r.dir)}.git("", "init", "-q", "-b", "main", "seed")
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter a <a@example.org> %d +0100\ndata 9\ncommit %2d", 1_700_000_000+60*i, i)
		text := strings.Repeat(fmt.Sprintf("line %d of it\n", i), 1+i*i)
		fmt.Fprintf(&b, "M 100644 inline directory %d/file\ndata %d\n%s\nM 100755 inline run\ndata %d\n%[3]s\n", i%7, len(text), text, len(text))
		if i == 30 {
			b.WriteString("reset refs/heads/dev\nfrom refs/heads/main\n\n")
		}
	}
	b.WriteString("commit refs/heads/dev\ncommitter a <a@example.org> 1700009000 +0100\ndata 3\ndev\nM 100644 inline dev\ndata 1\n.\n\n")
	b.WriteString("commit refs/heads/main\ncommitter a <a@example.org> 1700009060 +0100\ndata 5\nmerge\nmerge refs/heads/dev\nM 100644 inline dev\ndata 1\n.\n\n")
	b.WriteString("tag v1\nfrom refs/heads/main\ntagger a <a@example.org> 1700009100 +0100\ndata 3\nold\n")
	r.git(b.String(), "fast-import", "--quiet")
	r.git("", "reset", "-q", "--hard")
	return r
}
