package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// A section is renewed, or put where it belongs, and nothing else of the page changes.
func TestRenewing(t *testing.T) {
	const a, c, end = "\n## (a) One\n\nwas one\n", "\n## (c) Three\n\nwas three\n", "\n## Tried and not kept\n\nthis\n"
	const head = "# Performance\n\nhead\n"
	renewed := func(letter, page string) string {
		r := report{command: "make bench", head: []string{"here"}}
		r.begin(letter, "New")
		r.note("It is new.")
		return r.renewed(page)
	}
	section := func(letter string) string {
		return "\n## (" + letter + ") New\n\n\nIt is new.\n\nMeasured by `make bench`: here.\n"
	}
	for _, x := range []struct{ letter, page, want string }{
		{"a", head + a + c + end, head + section("a") + c + end},
		{"b", head + a + c + end, head + a + section("b") + c + end},
		{"c", head + a + c + end, head + a + section("c") + end},
		{"d", head + a + c + end, head + a + c + section("d") + end},
		{"c", head + a + c, head + a + section("c")},
		{"d", head + a + c, head + a + c + section("d")},
	} {
		if got := renewed(x.letter, x.page); got != x.want {
			t.Errorf("(%s) in %q:\n%q, not\n%q", x.letter, x.page, got, x.want)
		}
	}
	var r report
	if err := r.write(filepath.Join(t.TempDir(), "none"), true); err == nil {
		t.Error("a page that is not there is renewed")
	}
}

// What is made is a repository with so many commits, and its packs have what they should.
func TestMadeRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	w := &world{dir: t.TempDir(), w: &bytes.Buffer{}}
	m, err := w.makeRepository(t.Context(), "made", recipe{commits: 30, branches: 2, later: 2, ballast: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.refs) != 3 || m.refs["refs/heads/branch-2"] != m.main || len(m.next) != 2 {
		t.Errorf("%+v", m)
	}
	b, err := w.newBackend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.server.Close()
	url, err := b.add(t.Context(), m, "theirs.git")
	if err != nil {
		t.Fatal(err)
	}
	count := func(rev string) string {
		out, took, err := git(t.Context(), filepath.Join(b.root, "theirs.git"), nil, "rev-list", "--count", rev)
		if err != nil || took.cpu <= 0 {
			t.Fatal(took, err)
		}
		return strings.TrimSpace(out)
	}
	if n := count("branch-1"); n != "30" {
		t.Errorf("%s commits", n)
	}
	if n, err := fetch(t.Context(), url, m.main); err != nil || n < 1000 {
		t.Errorf("a clone has %d bytes: %v", n, err)
	}
	pack, err := m.packOf(t.Context(), m.next[0], m.main)
	if err != nil {
		t.Fatal(err)
	}
	body := pushBody(map[string]gitwire.ObjectID{mainRef: m.next[0]}, m.main, pack)
	if err := push(t.Context(), url, body); err != nil || count("main") != "31" {
		t.Errorf("main has %s commits: %v", count("main"), err)
	}
	if err := push(t.Context(), url, body); err == nil {
		t.Error("a push that is refused counts as one that is not")
	}
	if _, err := fetch(t.Context(), b.server.URL+"/other.git", m.main); err == nil {
		t.Error("a repository that is not there is cloned")
	}
	if got := b.file(url); got != "file://"+filepath.Join(b.root, "theirs.git") {
		t.Error(got)
	}
}

// The processor time of a process has that of those which it started, once they have ended.
func TestTree(t *testing.T) {
	g := &process{cmd: exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo; read x`)}
	in, err := g.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not tell")
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := g.childless(t.Context()); err != nil || g.tree() <= g.cpu() {
		t.Errorf("%s with its children, %s alone: %v", g.tree(), g.cpu(), err)
	}
	in.Close()
	_ = g.cmd.Wait() // read fails at the end
}
