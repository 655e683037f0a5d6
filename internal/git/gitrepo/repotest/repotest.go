// Package repotest makes real repositories on a disk for tests, of the words of git fast-import.
package repotest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

var theGit = sync.OnceValues(func() (*gitproc.Git, error) { return gitproc.Open(context.Background(), gitproc.Config{CPUs: 4}) })

// Repository is a repository on a disk, and another one beside it in which git made its commits.
type Repository struct {
	testing.TB
	Disk *gitrepo.Disk
	At   gitrepo.ID
	dir  string
}

// New makes a repository with what git fast-import reads.
func New(t testing.TB, imported string) *Repository {
	t.Helper()
	git, err := theGit()
	if err != nil {
		t.Fatal(err)
	}
	return With(t, git, imported)
}

// With is New with a git of the test's own.
func With(t testing.TB, git *gitproc.Git, imported string) *Repository {
	t.Helper()
	r := &Repository{TB: t, At: gitrepo.ID{1}, dir: t.TempDir()}
	var err error
	if r.Disk, err = gitrepo.Open(gitrepo.Config{Dir: t.TempDir(), Git: git}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Disk.Close(); err != nil {
			t.Error(err)
		}
	})
	r.Git("", "init", "-q", "--bare", "--initial-branch=main")
	r.Git("feature done\n"+imported+"done\n", "fast-import", "--quiet", "--force")
	r.Push()
	return r
}

// Push puts what the other repository has, with its refs, into that on the disk.
func (r *Repository) Push() {
	r.Helper()
	q, err := r.Disk.Begin(r.At)
	if err == nil {
		_, err = q.Receive(r.Context(), strings.NewReader(r.Git("", "pack-objects", "--all", "--revs", "--stdout", "-q")), gitrepo.Receiving{})
	}
	var tips []gitwire.ObjectID
	for _, ref := range r.Refs().List {
		tips = append(tips, ref.ID)
	}
	if err == nil {
		_, err = q.Prove(r.Context(), gitrepo.Proving{Tips: tips})
	}
	if err == nil {
		err = r.Disk.Admit(q, r.At)
	}
	if err == nil {
		err = q.Close()
	}
	if err != nil {
		r.Fatal(err)
	}
}

// Refs returns the refs, of which HEAD names main.
func (r *Repository) Refs() *gitwire.Refs {
	r.Helper()
	refs := &gitwire.Refs{Head: "refs/heads/main"}
	for line := range strings.Lines(r.Git("", "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")) {
		words := strings.Fields(line)
		ref := gitwire.Ref{Name: words[0], ID: r.Parse(words[1])}
		if len(words) == 3 {
			ref.Peeled = r.Parse(words[2])
		}
		refs.List = append(refs.List, ref)
	}
	refs.Sort()
	return refs
}

// Git runs git and returns what it prints.
func (r *Repository) Git(in string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + r.dir}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("git %v: %v: %s", args, err, said.String())
	}
	return string(out)
}

// Parse reads an id.
func (r *Repository) Parse(s string) gitwire.ObjectID {
	r.Helper()
	id, err := gitwire.ParseObjectID(strings.TrimSpace(s))
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// ID returns what an expression of git names.
func (r *Repository) ID(name string) gitwire.ObjectID {
	r.Helper()
	return r.Parse(r.Git("", "rev-parse", name))
}

// Commit writes a commit on a branch for fast-import. The words of from are the branch that a new one begins at, and behind a plus one that it merges.
// files are pairs of a mode with a path, and the contents; or "-" with a path to be deleted, and nothing.
func Commit(branch, message string, when int, from string, files ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/%s\nauthor A <a@example.com> %d +0200\ncommitter C <c@example.com> %d -0530\ndata %d\n%s\n", branch, when, when+1, len(message), message)
	for f := range strings.FieldsSeq(from) {
		word := "from"
		if merged, ok := strings.CutPrefix(f, "+"); ok {
			word, f = "merge", merged
		}
		fmt.Fprintf(&b, "%s refs/heads/%s\n", word, f)
	}
	for i := 0; i+1 < len(files); i += 2 {
		if path, gone := strings.CutPrefix(files[i], "-"); gone {
			fmt.Fprintf(&b, "D %s\n", path)
			continue
		}
		mode, path, _ := strings.Cut(files[i], " ")
		if mode == "160000" {
			fmt.Fprintf(&b, "M 160000 %s %s\n", files[i+1], path)
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, path, len(files[i+1]), files[i+1])
	}
	return b.String() + "\n"
}
