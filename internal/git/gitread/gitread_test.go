package gitread_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

var theGit = sync.OnceValues(func() (*gitproc.Git, error) { return gitproc.Open(context.Background(), gitproc.Config{CPUs: 4}) })

// world is one repository, made by the words of git fast-import, and a reader.
type world struct {
	*testing.T
	dir     string // where git made it
	r       *gitread.Reader
	visit   gitread.Visit
	now     time.Time
	charged int
}

func newWorld(t *testing.T, imported string) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), now: time.Unix(1_700_000_000, 0)}
	w.git("", "init", "-q", "--bare", "--initial-branch=main")
	w.git("feature done\n"+imported+"done\n", "fast-import", "--quiet", "--force")
	git, err := theGit()
	if err != nil {
		t.Fatal(err)
	}
	d, err := gitrepo.Open(gitrepo.Config{Dir: t.TempDir(), Git: git})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	w.visit = gitread.Visit{Repo: gitrepo.ID{1}, For: gitrepo.For{Party: "somebody"}, Charge: func(n int) { w.charged += n }}
	w.push(d)
	w.r = gitread.New(d, func() time.Time { return w.now })
	return w
}

func (w *world) push(d *gitrepo.Disk) {
	w.Helper()
	q, err := d.Begin(w.visit.Repo)
	if err == nil {
		_, err = q.Receive(w.Context(), strings.NewReader(w.git("", "pack-objects", "--all", "--revs", "--stdout", "-q")), gitrepo.Receiving{})
	}
	var tips []gitwire.ObjectID
	for line := range strings.Lines(w.git("", "for-each-ref", "--format=%(objectname)")) {
		tips = append(tips, w.parse(strings.TrimSpace(line)))
	}
	if err == nil {
		_, err = q.Prove(w.Context(), gitrepo.Proving{Tips: tips})
	}
	if err == nil {
		err = d.Admit(q, w.visit.Repo)
	}
	if err == nil {
		err = q.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) git(in string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + w.dir}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("git %v: %v: %s", args, err, said.String())
	}
	return string(out)
}

func (w *world) parse(s string) gitwire.ObjectID {
	w.Helper()
	id, err := gitwire.ParseObjectID(strings.TrimSpace(s))
	if err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) id(name string) gitwire.ObjectID { return w.parse(w.git("", "rev-parse", name)) }

// commit writes a commit for fast-import; each file is a line "M mode inline path" with contents, or another command.
func commit(branch, message string, when int, from string, files ...string) string {
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

const (
	odd     = "we\nird \"<script>\x1b\xff" // no UTF-8, and what HTML and git would read
	oddPath = `"we\nird \"<script>\033\377"`
	absent  = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

// history has two commits on main, a merged side branch, and one that conflicts.
var history = commit("main", "First\r\nline\r\n\r\nThe rest\n", 1000, "", "100644 README.md", "# x\n", "100644 src/a.go", "package a\n", "100755 run", "#!/x\n",
	"120000 link", "src/a.go", "160000 sub", absent, "100644 "+oddPath, "one\ntwo\n", "100644 bin", "\x00\x01", "100644 src/deep/er/file", "x\n", "100644 large", strings.Repeat("y", 2<<20)) +
	commit("side", "Side", 2000, "main", "100644 side", "s\n") +
	commit("main", "Second", 3000, "", "100644 src/a.go", "package b\n", "100644 "+oddPath, "one\n2\nend", "100644 bin", "\x00\x02", "-run", "", "100644 empty", "", "100644 link", "a file\n") +
	commit("main", "Merge side", 4000, "+side", "100644 side", "s\n") +
	commit("clash", "Clash", 5000, "side", "100644 src/a.go", "package c\n") +
	commit("alone", "No history with others", 6000, "", "100644 x", "x\n")

func TestOpen(t *testing.T) {
	w := newWorld(t, history)
	main := w.id("main")
	p, err := w.r.Open(t.Context(), w.visit, main, "", gitread.Opening{Most: 100, Bytes: 1 << 10, Also: func(all []gitread.Entry) string { return "README.md" }})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range p.Entries {
		names = append(names, fmt.Sprintf("%s %s %d", e.Mode, e.Name, e.Size))
	}
	want := []string{"40000 src -1", "160000 sub -1", "100644 README.md 4", "100644 bin 2", "100644 empty 0", "100644 large 2097152", "100644 link 7", "100644 side 2", "100644 " + odd + " 9"}
	if !slices.Equal(names, want) {
		t.Errorf("entries: %q", names)
	}
	if string(p.Also.Data) != "# x\n" || p.Also.Name != "README.md" || p.Commit.ID != main {
		t.Errorf("beside: %+v", p.Also)
	}
	for path, want := range map[string]string{
		"src/a.go": "100644 10 package b\n", "src/deep/er/file": "100644 2 x\n", odd: "100644 9 one\n2\nend", "empty": "100644 0 ", "large": "100644 2097152 -", "sub": "160000 -1 -",
		"src": "40000 -1 -", "run": "nothing", "src/": "nothing", "/src": "nothing", "src/a.go/x": "nothing", "..": "nothing", "./src": "nothing", "sub/x": "nothing", "src//a.go": "nothing",
		strings.Repeat("src/", 101): "nothing", "large\n": "nothing",
	} {
		p, err := w.r.Open(t.Context(), w.visit, main, path, gitread.Opening{Bytes: 1 << 10})
		got := "nothing"
		if err == nil {
			data := "-"
			if p.Data != nil {
				data = string(p.Data)
			}
			got = fmt.Sprintf("%s %d %s", p.Mode, p.Size, data)
		} else if !errors.Is(err, gitread.ErrNothing) {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	p, err = w.r.Open(t.Context(), w.visit, w.id("main~2"), "link", gitread.Opening{})
	if err != nil || string(p.Data) != "src/a.go" || p.Mode != gitread.ModeLink {
		t.Errorf("a link: %+v, %v", p, err)
	}
	for _, id := range []string{absent, w.id("main^{tree}").String(), w.id("main:large").String()} {
		if _, err := w.r.Open(t.Context(), w.visit, w.parse(id), "", gitread.Opening{}); !errors.Is(err, gitread.ErrNothing) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What was read is read without a process from then on, and nobody pays for it again.
func TestWhatWasReadIsKept(t *testing.T) {
	w := newWorld(t, history)
	main, before := w.id("main"), w.id("main~1")
	read := func() {
		t.Helper()
		_, err := w.r.Open(t.Context(), w.visit, main, "src/deep", gitread.Opening{Most: 10})
		_, err2 := w.r.Open(t.Context(), w.visit, main, "src/a.go", gitread.Opening{Bytes: 100})
		_, err3 := w.r.Diff(t.Context(), w.visit, before, main)
		_, _, _, err4 := w.r.History(t.Context(), w.visit, main, 10)
		_, err5 := w.r.Touched(t.Context(), w.visit, main, "")
		_, err6 := w.r.MergeBase(t.Context(), w.visit, main, w.id("clash"))
		_, err7 := w.r.Merge(t.Context(), w.visit, main, w.id("clash"))
		if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if w.charged < 7*5000 {
		t.Errorf("charged %d steps", w.charged)
	}
	w.charged = 0
	if read(); w.charged != 0 {
		t.Errorf("charged %d steps again", w.charged)
	}
	w.visit.Repo[0]++ // what is kept of one repository is nothing of another
	if _, err := w.r.Commit(t.Context(), w.visit, main); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("in another repository: %v", err)
	}
}

func TestCommit(t *testing.T) {
	w := newWorld(t, history)
	c, err := w.r.Commit(t.Context(), w.visit, w.id("main~2"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Subject != "First line" || c.Body != "The rest" || c.Author.Name != "A" || c.Author.Email != "a@example.com" || c.Author.When.Unix() != 1000 ||
		c.Committer.When.Format(time.RFC3339) != "1969-12-31T18:46:41-05:30" || c.Tree != w.id("main~2^{tree}") || len(c.Parents) != 0 || c.Signature != "" {
		t.Errorf("%+v", c)
	}
	if c, err = w.r.Commit(t.Context(), w.visit, w.id("main")); err != nil || len(c.Parents) != 2 || c.Parent() != w.id("main~1") {
		t.Errorf("a merge: %+v, %v", c, err)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(t, history)
	page := func(from gitwire.ObjectID, most int) (subjects string, next gitwire.ObjectID) {
		t.Helper()
		all, next, cut, err := w.r.History(t.Context(), w.visit, from, most)
		if err != nil || cut {
			t.Fatal(err, cut)
		}
		for _, c := range all {
			subjects += c.Subject + ";"
		}
		return subjects, next
	}
	if got, next := page(w.id("main"), 10); got != "Merge side;Second;Side;First line;" || !next.IsZero() {
		t.Errorf("%s, %s", got, next)
	}
	if got, next := page(w.id("main"), 1); got != "Merge side;Side;" || next != w.id("main~1") {
		t.Errorf("the first page: %s, %s", got, next)
	}
	if got, next := page(w.id("main~1"), 1); got != "Second;" || next != w.id("main~2") {
		t.Errorf("the second page: %s, %s", got, next)
	}
	if got, next := page(w.id("main~2"), 1); got != "First line;" || !next.IsZero() {
		t.Errorf("the last page: %s, %s", got, next)
	}
	all, err := w.r.Commits(t.Context(), w.visit, w.id("clash"), w.id("main"), 10)
	if err != nil || len(all) != 1 || all[0].Subject != "Clash" {
		t.Errorf("of a pull request: %v, %v", all, err)
	}
}

func TestDiff(t *testing.T) {
	w := newWorld(t, history)
	d, err := w.r.Diff(t.Context(), w.visit, w.id("main~2"), w.id("main~1"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range d.Files {
		s := fmt.Sprintf("%c %s>%s %s>%s +%d -%d", f.Status, f.Old, f.New, f.OldMode, f.NewMode, f.Added, f.Deleted)
		if f.Binary {
			s += " binary"
		}
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				s += fmt.Sprintf("|%c%d,%d %s", l.Op, l.Old, l.New, l.Text)
				if l.NoEnd {
					s += "!"
				}
			}
		}
		got = append(got, s)
	}
	want := []string{
		"M bin>bin 100644>100644 +0 -0 binary", "A >empty >100644 +0 -0", "T link>link 120000>100644 +1 -1|-1,0 src/a.go!|+0,1 a file", "D run> 100755> +0 -1|-1,0 #!/x",
		"M src/a.go>src/a.go 100644>100644 +1 -1|-1,0 package a|+0,1 package b",
		"M " + odd + ">" + odd + " 100644>100644 +2 -1| 1,1 one|-2,0 two|+0,2 2|+0,3 end!",
	}
	if !slices.Equal(got, want) || d.Added != 4 || d.Deleted != 4 || d.Cut {
		t.Errorf("%q, +%d -%d", got, d.Added, d.Deleted)
	}
	whole, err := w.r.Diff(t.Context(), w.visit, gitwire.ObjectID{}, w.id("main~2"))
	if err != nil || len(whole.Files) != 9 || whole.Cut {
		t.Fatalf("of the first commit: %v, %v", whole, err)
	}
	if _, err := w.r.Diff(t.Context(), w.visit, w.parse(absent), w.id("main")); !errors.Is(err, gitread.ErrNothing) {
		t.Errorf("with what is not there: %v", err)
	}
}

func TestMerge(t *testing.T) {
	w := newWorld(t, history)
	main := w.id("main")
	for name, want := range map[string]string{"side": "true []", "clash": "false [src/a.go]", "main~1": "true []"} {
		m, err := w.r.Merge(t.Context(), w.visit, main, w.id(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := fmt.Sprint(m.Clean, " ", m.Conflicts); got != want || m.Cut {
			t.Errorf("%s: %s", name, got)
		}
	}
	if base, err := w.r.MergeBase(t.Context(), w.visit, main, w.id("clash")); err != nil || base != w.id("side") {
		t.Errorf("base: %s, %v", base, err)
	}
	if base, err := w.r.MergeBase(t.Context(), w.visit, main, w.id("alone")); err != nil || !base.IsZero() {
		t.Errorf("no base: %s, %v", base, err)
	}
	if _, err := w.r.Merge(t.Context(), w.visit, main, w.id("alone")); err == nil || errors.Is(err, gitread.ErrCostly) {
		t.Errorf("without a base: %v", err)
	}
}

func TestTouched(t *testing.T) {
	w := newWorld(t, history)
	at := func(path string) string {
		t.Helper()
		found, err := w.r.Touched(t.Context(), w.visit, w.id("main"), path)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for name, c := range found {
			all = append(all, name+": "+c.Subject)
		}
		slices.Sort(all)
		return strings.Join(all, "; ")
	}
	if got, want := at(""), "README.md: First line; bin: Second; empty: Second; large: First line; link: Second; side: Merge side; src: Second; sub: First line; "+odd+": Second"; got != want {
		t.Errorf("%q", got)
	}
	if got := at("src"); got != "a.go: Second; deep: First line" {
		t.Errorf("src: %s", got)
	}
	if got := at("nowhere") + at("README.md"); got != "" {
		t.Errorf("nowhere: %s", got)
	}
}
