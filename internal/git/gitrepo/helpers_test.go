package gitrepo_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/test/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.RunWaiting(m)) }

var theGit = sync.OnceValues(func() (*gitproc.Git, error) { return gitproc.Open(context.Background(), gitproc.Config{CPUs: 4}) })

// tempDir is a directory in memory where there is such, as git writes much that nobody needs afterwards.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "graspd-gitrepo-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// disk opens repositories in a new directory.
func disk(t testing.TB) (*gitrepo.Disk, string) {
	t.Helper()
	dir := tempDir(t)
	return openDisk(t, gitrepo.Config{Dir: dir}), dir
}

func openDisk(t testing.TB, cfg gitrepo.Config) *gitrepo.Disk {
	t.Helper()
	if cfg.Git == nil {
		git, err := theGit()
		if err != nil {
			t.Fatal(err)
		}
		cfg.Git = git
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	d, err := gitrepo.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// clone is somebody's own repository.
type clone struct {
	t   testing.TB
	dir string
}

func newClone(t testing.TB) *clone {
	t.Helper()
	c := &clone{t, tempDir(t)}
	c.git(nil, "init", "-q", "--bare", "--initial-branch=main")
	return c
}

// git runs git there and returns what it prints, without the end of the line.
func (c *clone) git(in []byte, args ...string) string {
	c.t.Helper()
	return strings.TrimSuffix(string(c.raw(in, args...)), "\n")
}

func (c *clone) raw(in []byte, args ...string) []byte {
	c.t.Helper()
	out, err := gitIn(c.dir, in, args...)
	if err != nil {
		c.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func gitIn(dir string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000"}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return said.Bytes(), err
	}
	return out, nil
}

// lorem is long enough for deltas.
var lorem = func() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "%x\n", sha256.Sum256([]byte{byte(i)}))
	}
	return b.String()
}()

// commit makes commits, one upon the other, upon a parent or none, each with a file of its own and one that all change.
func (c *clone) commit(name string, n int, parent gitwire.ObjectID) gitwire.ObjectID {
	c.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "feature done\nreset refs/heads/%s\n", name)
	if !parent.IsZero() {
		fmt.Fprintf(&b, "from %s\n\n", parent)
	}
	for i := range n {
		text := fmt.Sprintf("%s %d upon %s", name, i, parent)
		fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter a <a@example.com> %d +0000\ndata %d\n%s\n", name, 1700000000+i, len(text), text)
		fmt.Fprintf(&b, "M 644 inline %s/%d\ndata %d\n%s\n", name, i, len(text), text)
		text = lorem + text
		fmt.Fprintf(&b, "M 644 inline common\ndata %d\n%s\n\n", len(text), text)
	}
	fmt.Fprintf(&b, "done\n")
	c.git(b.Bytes(), "fast-import", "--quiet", "--force")
	return c.id("refs/heads/" + name)
}

// id is the object that an expression names.
func (c *clone) id(expression string) gitwire.ObjectID {
	c.t.Helper()
	return parse(c.t, c.git(nil, "rev-parse", "--verify", expression))
}

// tag makes an annotated tag.
func (c *clone) tag(name string, of gitwire.ObjectID) gitwire.ObjectID {
	c.t.Helper()
	c.git(nil, "tag", "-a", "-m", name, name, of.String())
	return c.id("refs/tags/" + name)
}

// all are the ids of what an expression leads to.
func (c *clone) all(expressions ...string) []gitwire.ObjectID {
	c.t.Helper()
	return c.ids(c.git([]byte(strings.Join(expressions, "\n")+"\n"), "rev-list", "--objects", "--no-object-names", "--stdin"))
}

func (c *clone) ids(text string) []gitwire.ObjectID {
	c.t.Helper()
	var ids []gitwire.ObjectID
	for line := range strings.Lines(text) {
		ids = append(ids, parse(c.t, strings.TrimSpace(line)))
	}
	return ids
}

// pack is the pack of what expressions lead to; a thin one, if something is left out.
func (c *clone) pack(expressions ...string) []byte {
	c.t.Helper()
	return c.raw([]byte(strings.Join(expressions, "\n")+"\n"), "pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset")
}

// refs are the names of all refs.
func (c *clone) refs() []string {
	c.t.Helper()
	return strings.Split(c.git(nil, "for-each-ref", "--format=%(refname)"), "\n")
}

// packOf is the pack of these objects.
func (c *clone) packOf(ids ...gitwire.ObjectID) []byte {
	c.t.Helper()
	var in []byte
	for _, id := range ids {
		in = append(id.AppendHex(in), '\n')
	}
	return c.raw(in, "pack-objects", "--stdout", "-q")
}

func parse(t testing.TB, text string) gitwire.ObjectID {
	t.Helper()
	id, err := gitwire.ParseObjectID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func some(b byte) gitrepo.ID { return gitrepo.ID{0xab, 0xcd, 15: b} }

func pathOf(dir string, id gitrepo.ID) string {
	return filepath.Join(dir, id.String()[:2], id.String()[2:4], id.String())
}

// begin begins a quarantine that ends with the test.
func begin(t testing.TB, d *gitrepo.Disk, repo gitrepo.ID) gitrepo.Quarantine {
	t.Helper()
	q, err := d.Begin(repo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func receive(t testing.TB, q gitrepo.Quarantine, pack []byte) gitrepo.Received {
	t.Helper()
	r, err := q.Receive(t.Context(), bytes.NewReader(pack), gitrepo.Receiving{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// push brings what tips need into a repository.
func push(t testing.TB, d *gitrepo.Disk, repo gitrepo.ID, pack []byte, p gitrepo.Proving) gitrepo.Proof {
	t.Helper()
	q, err := d.Begin(repo)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, q, pack)
	proof, err := q.Prove(t.Context(), p)
	if err == nil {
		err = d.Admit(q, repo)
	}
	if err == nil {
		err = q.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

func wantMissing(t testing.TB, d *gitrepo.Disk, repo gitrepo.ID, ids []gitwire.ObjectID, want int) {
	t.Helper()
	got, err := d.Missing(repo, ids)
	if err != nil || len(got) != want {
		t.Helper()
		t.Errorf("of %d objects %d are missing (%v), want %d", len(ids), len(got), err, want)
	}
}

// entries are the names of all that is below a directory.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func refsOf(head string, pairs ...any) *gitwire.Refs {
	refs := &gitwire.Refs{Head: head}
	for i := 0; i < len(pairs); i += 2 {
		refs.List = append(refs.List, gitwire.Ref{Name: pairs[i].(string), ID: pairs[i+1].(gitwire.ObjectID)})
	}
	return refs
}

// failing reads as bytes, and fails after them.
func failing(b []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(b), &failure{err})
}

type failure struct{ err error }

func (f *failure) Read([]byte) (int, error) { return 0, f.err }
