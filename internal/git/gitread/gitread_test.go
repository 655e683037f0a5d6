package gitread_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// world is one repository and a reader.
type world struct {
	*testing.T
	*repotest.Repository
	r       *gitread.Reader
	visit   gitread.Visit
	now     time.Time
	charged int
}

func newWorld(t *testing.T, imported string) *world {
	t.Helper()
	w := &world{T: t, Repository: repotest.New(t, imported), now: time.Unix(1_700_000_000, 0)}
	w.visit = gitread.Visit{Repo: w.At, For: gitrepo.For{Party: "somebody"}, Charge: func(n int) { w.charged += n }}
	w.r = gitread.New(w.Disk, func() time.Time { return w.now })
	return w
}

const (
	odd     = "we\nird \"<script>\x1b\xff" // no UTF-8, and what HTML and git would read
	oddPath = `"we\nird \"<script>\033\377"`
	absent  = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

// history has two commits on main, a merged side branch, and one that conflicts.
var history = repotest.Commit("main", "First\r\nline\r\n\r\nThe rest\n", 1000, "", "100644 README.md", "# x\n", "100644 src/a.go", "package a\n", "100755 run", "#!/x\n",
	"120000 link", "src/a.go", "160000 sub", absent, "100644 "+oddPath, "one\ntwo\n", "100644 bin", "\x00\x01", "100644 src/deep/er/file", "x\n", "100644 large", strings.Repeat("y", 2<<20)) +
	repotest.Commit("side", "Side", 2000, "main", "100644 side", "s\n") +
	repotest.Commit("main", "Second", 3000, "", "100644 src/a.go", "package b\n", "100644 "+oddPath, "one\n2\nend", "100644 bin", "\x00\x02", "-run", "", "100644 empty", "", "100644 link", "a file\n") +
	repotest.Commit("main", "Merge side", 4000, "+side", "100644 side", "s\n") +
	repotest.Commit("clash", "Clash", 5000, "side", "100644 src/a.go", "package c\n") +
	repotest.Commit("alone", "No history with others", 6000, "", "100644 x", "x\n")

func TestOpen(t *testing.T) {
	w := newWorld(t, history)
	main := w.ID("main")
	p, err := w.r.Open(t.Context(), w.visit, main, "", gitread.Opening{Most: 100, Bytes: 1 << 10, Also: func([]string) string { return "README.md" }})
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
	p, err = w.r.Open(t.Context(), w.visit, w.ID("main~2"), "link", gitread.Opening{})
	if err != nil || string(p.Data) != "src/a.go" || p.Mode != gitread.ModeLink {
		t.Errorf("a link: %+v, %v", p, err)
	}
	p, err = w.r.Open(t.Context(), w.visit, w.ID("main~2"), "", gitread.Opening{Bytes: 1 << 10, Also: func([]string) string { return "link" }})
	if err != nil || p.Also.Name != "link" || string(p.Also.Data) != "package a\n" || p.Also.Size != 10 {
		t.Errorf("beside, by a link: %+v, %v", p, err)
	}
	for _, id := range []string{absent, w.ID("main^{tree}").String(), w.ID("main:large").String()} {
		if _, err := w.r.Open(t.Context(), w.visit, w.Parse(id), "", gitread.Opening{}); !errors.Is(err, gitread.ErrNothing) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// The history of a large directory is not looked at, and what was too large for that is read for its page.
func TestALargeDirectory(t *testing.T) {
	var files []string
	for i := range 2500 {
		files = append(files, fmt.Sprintf("100644 d/%05d", i), "x")
	}
	w := newWorld(t, repotest.Commit("main", "Many", 1000, "", files...)+repotest.Commit("main", "One", 2000, "", "100644 x", "x"))
	for _, commit := range []string{"main~1", "main"} {
		found, err := w.r.Touched(t.Context(), w.visit, w.ID(commit), "d")
		p, err2 := w.r.Open(t.Context(), w.visit, w.ID(commit), "d", gitread.Opening{})
		if err := errors.Join(err, err2); err != nil || len(found) != 0 || len(p.Entries) != 2500 {
			t.Fatalf("%d known, %v", len(found), err)
		}
	}
	w.charged = 0
	if _, err := w.r.Touched(t.Context(), w.visit, w.ID("main"), "d"); err != nil || w.charged != 0 {
		t.Errorf("charged %d steps again, %v", w.charged, err)
	}
}

// However many pages show a directory, it is parsed once, and each page has the sizes that it asked for.
func TestDirectoriesAreParsedOnce(t *testing.T) {
	var files []string
	for i := range 2500 {
		files = append(files, fmt.Sprintf("100644 d/%05d", i), "x")
	}
	w := newWorld(t, repotest.Commit("main", "Many", 1000, "", append(files, "100644 x", "x")...))
	open := func(first int) *gitread.Place {
		p, err := w.r.Open(t.Context(), w.visit, w.ID("main"), "d", gitread.Opening{First: first, Most: 10})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	open(0)
	if p := open(10); p.Entries[0].Size != -1 || p.Entries[10].Size != 1 || p.Entries[20].Size != -1 {
		t.Errorf("sizes %d, %d and %d", p.Entries[0].Size, p.Entries[10].Size, p.Entries[20].Size)
	}
	id := w.ID("main")
	if n := testing.AllocsPerRun(1, func() { _, _ = w.r.Open(t.Context(), w.visit, id, "d", gitread.Opening{First: 10, Most: 10}) }); n > 500 {
		t.Errorf("%v allocations", n)
	}
	touched := func() { _, _ = w.r.Touched(t.Context(), w.visit, id, "") }
	touched()
	w.now = w.now.Add(time.Second)
	if n := testing.AllocsPerRun(1, touched); n > 20 {
		t.Errorf("%v allocations for what was touched", n)
	}
}

// What was read is read without a process from then on, and nobody pays for it again.
func TestWhatWasReadIsKept(t *testing.T) {
	w := newWorld(t, history)
	main, before := w.ID("main"), w.ID("main~1")
	read := func() {
		t.Helper()
		_, err := w.r.Open(t.Context(), w.visit, main, "src/deep", gitread.Opening{Most: 10})
		_, err2 := w.r.Open(t.Context(), w.visit, main, "src/a.go", gitread.Opening{Bytes: 100})
		_, err3 := w.r.Diff(t.Context(), w.visit, before, main)
		_, _, _, err4 := w.r.History(t.Context(), w.visit, main, 10)
		_, err5 := w.r.Touched(t.Context(), w.visit, main, "")
		_, err6 := w.r.MergeBase(t.Context(), w.visit, main, w.ID("clash"))
		_, err7 := w.r.Merge(t.Context(), w.visit, main, w.ID("clash"))
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
	c, err := w.r.Commit(t.Context(), w.visit, w.ID("main~2"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Subject != "First line" || c.Body != "The rest" || c.Author.Name != "A" || c.Author.Email != "a@example.com" || c.Author.When.Unix() != 1000 ||
		c.Committer.When.Format(time.RFC3339) != "1969-12-31T18:46:41-05:30" || c.Tree != w.ID("main~2^{tree}") || len(c.Parents) != 0 || c.Signature != "" {
		t.Errorf("%+v", c)
	}
	if c, err = w.r.Commit(t.Context(), w.visit, w.ID("main")); err != nil || len(c.Parents) != 2 || c.Parent() != w.ID("main~1") {
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
	if got, next := page(w.ID("main"), 10); got != "Merge side;Second;Side;First line;" || !next.IsZero() {
		t.Errorf("%s, %s", got, next)
	}
	if got, next := page(w.ID("main"), 1); got != "Merge side;Side;" || next != w.ID("main~1") {
		t.Errorf("the first page: %s, %s", got, next)
	}
	if got, next := page(w.ID("main~1"), 1); got != "Second;" || next != w.ID("main~2") {
		t.Errorf("the second page: %s, %s", got, next)
	}
	if got, next := page(w.ID("main~2"), 1); got != "First line;" || !next.IsZero() {
		t.Errorf("the last page: %s, %s", got, next)
	}
	all, err := w.r.Commits(t.Context(), w.visit, w.ID("clash"), w.ID("main"), 10)
	if err != nil || len(all) != 1 || all[0].Subject != "Clash" {
		t.Errorf("of a pull request: %v, %v", all, err)
	}
}

func TestDiff(t *testing.T) {
	w := newWorld(t, history)
	d, err := w.r.Diff(t.Context(), w.visit, w.ID("main~2"), w.ID("main~1"))
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
	whole, err := w.r.Diff(t.Context(), w.visit, gitwire.ObjectID{}, w.ID("main~2"))
	if err != nil || len(whole.Files) != 9 || whole.Cut {
		t.Fatalf("of the first commit: %v, %v", whole, err)
	}
	if _, err := w.r.Diff(t.Context(), w.visit, w.Parse(absent), w.ID("main")); !errors.Is(err, gitread.ErrNothing) {
		t.Errorf("with what is not there: %v", err)
	}
}

// The lines of a file that has changed too much for a page are counted, and not read; those of the file behind it are.
func TestLargeFilesOfADifference(t *testing.T) {
	w := newWorld(t, repotest.Commit("main", "Many", 1000, "", "100644 a", strings.Repeat("x\n", gitread.MostChanged), "100644 b", strings.Repeat("x\n", gitread.MostChanged+1), "100644 c", "x\n"))
	d, err := w.r.Diff(t.Context(), w.visit, gitwire.ObjectID{}, w.ID("main"))
	if err != nil || len(d.Files) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, want := range []int{gitread.MostChanged, 0, 1} {
		f, n := d.Files[i], 0
		for _, h := range f.Hunks {
			n += len(h.Lines)
		}
		if n != want || f.Large != (want == 0) || f.Large && f.Added != gitread.MostChanged+1 {
			t.Errorf("%s: %d lines of +%d, %v", f.New, n, f.Added, f.Large)
		}
	}
}

func TestMerge(t *testing.T) {
	w := newWorld(t, history)
	main := w.ID("main")
	for name, want := range map[string]string{"side": "true []", "clash": "false [src/a.go]", "main~1": "true []"} {
		m, err := w.r.Merge(t.Context(), w.visit, main, w.ID(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := fmt.Sprint(m.Clean, " ", m.Conflicts); got != want || m.Cut {
			t.Errorf("%s: %s", name, got)
		}
	}
	if base, err := w.r.MergeBase(t.Context(), w.visit, main, w.ID("clash")); err != nil || base != w.ID("side") {
		t.Errorf("base: %s, %v", base, err)
	}
	if base, err := w.r.MergeBase(t.Context(), w.visit, main, w.ID("alone")); err != nil || !base.IsZero() {
		t.Errorf("no base: %s, %v", base, err)
	}
	if _, err := w.r.Merge(t.Context(), w.visit, main, w.ID("alone")); err == nil || errors.Is(err, gitread.ErrCostly) {
		t.Errorf("without a base: %v", err)
	}
}

func TestTouched(t *testing.T) {
	w := newWorld(t, history)
	at := func(path string) string {
		t.Helper()
		found, err := w.r.Touched(t.Context(), w.visit, w.ID("main"), path)
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

// What takes git too much is not tried again for ten minutes; who only waited for too long may try again at once.
func TestTooMuchWorkIsRemembered(t *testing.T) {
	w := newWorld(t, repotest.Commit("main", "All of it", 1000, "", "100644 a", strings.Repeat("x", 100)))
	tries, fails := 0, error(nil)
	try := func() error {
		return gitread.Once(w.r, "test", func() error { tries++; return fails })
	}
	fails = &gitproc.Error{Ending: gitproc.OutOfTime}
	for range 3 {
		if err := try(); !errors.Is(err, gitread.ErrCostly) {
			t.Error(err)
		}
	}
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
	w.now = w.now.Add(10*time.Minute + 1)
	fails = context.DeadlineExceeded
	for range 2 {
		if err := try(); !errors.Is(err, gitproc.ErrBusy) || errors.Is(err, gitread.ErrCostly) {
			t.Error(err)
		}
	}
	fails = nil
	if err := errors.Join(try(), try()); err != nil || tries != 4 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// What many ask for at once is made once. Who leaves does not wait.
func TestManyAskAtOnce(t *testing.T) {
	w := newWorld(t, repotest.Commit("main", "All of it", 1000, ""))
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := gitread.Once(w.r, "test", func() error { tries++; time.Sleep(time.Second); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		if all.Wait(); tries != 1 {
			t.Errorf("made %d times", tries)
		}
	})
}

// Beyond the commits that are looked at nothing is said to have changed last.
func TestTouchedIsBounded(t *testing.T) {
	var all strings.Builder
	all.WriteString(repotest.Commit("main", "First", 1000, "", "100644 old", "x", "100644 new", "x"))
	for i := range 220 {
		all.WriteString(repotest.Commit("main", fmt.Sprint(i), 2000+i, "", "100644 new", fmt.Sprint(i)))
	}
	w := newWorld(t, all.String())
	found, err := w.r.Touched(t.Context(), w.visit, w.ID("main"), "")
	if err != nil || found["old"] != nil || found["new"] == nil || found["new"].Subject != "219" {
		t.Errorf("%v, %v", found, err)
	}
}

// A difference that is cut anywhere has all files of its list, or says that it lacks some, and no half of a file.
func TestADiffCutAnywhere(t *testing.T) {
	w := newWorld(t, history)
	whole := w.Git("", "-c", "core.quotePath=false", "diff-tree", "-r", "-z", "--raw", "--numstat", "--patch", "--full-index", "--find-renames", "main~2", "main~1")
	d, err := gitread.ParseDiff([]byte(whole), false)
	if err != nil || len(d.Files) != 6 {
		t.Fatal(d, err)
	}
	for i := 1; i < len(whole); i++ {
		cut, err := gitread.ParseDiff([]byte(whole[:i]), true)
		if err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if len(cut.Files) < len(d.Files) && !cut.Cut {
			t.Errorf("cut at %d: %d files, and nothing says so", i, len(cut.Files))
		}
		for n, f := range cut.Files {
			if !f.Cut && len(f.Hunks) != len(d.Files[n].Hunks) || f.Cut && len(f.Hunks) > 0 || len(f.Hunks) > 0 && len(f.Hunks[0].Lines) != len(d.Files[n].Hunks[0].Lines) {
				t.Errorf("cut at %d: half of %q", i, f.Path())
			}
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(":100644 100644 badc806ed7d7937d6fcb727b07d0e90ec752bf9f 29a070e1590b9c64b1a78f646a7bfe06f3387d1e M\x00b\x001\t1\tb\x00\x00diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-a\n+b\n"), true)
	f.Fuzz(func(t *testing.T, out []byte, cut bool) {
		if d, err := gitread.ParseDiff(out, cut); err == nil && len(d.Files) > len(out) {
			t.Error("more files than bytes")
		}
	})
}

// Who waits until git has a slot pays for what git does then, and for nothing before.
func TestWaitingCostsNothing(t *testing.T) {
	git, err := gitproc.Open(t.Context(), gitproc.Config{Fetches: 1})
	if err != nil {
		t.Fatal(err)
	}
	repo := repotest.With(t, git, history)
	main, clash := repo.ID("main"), repo.ID("clash")
	for name, read := range map[string]func(*gitread.Reader, gitread.Visit) error{
		"objects": func(r *gitread.Reader, v gitread.Visit) error { _, err := r.Commit(t.Context(), v, main); return err },
		"a list": func(r *gitread.Reader, v gitread.Visit) error {
			_, err := r.MergeBase(t.Context(), v, main, clash)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var clock atomic.Int64
			charged := 0
			v := gitread.Visit{Repo: repo.At, For: gitrepo.For{Party: "somebody"}, Charge: func(n int) { charged += n }}
			r := gitread.New(repo.Disk, func() time.Time { return time.Unix(clock.Load(), 0) })
			begun, free, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				held <- repo.Disk.Ask(t.Context(), repo.At, v.For, func(a *gitrepo.Asking) error {
					_, err := a.Stat(main)
					close(begun)
					<-free
					return err
				})
			}()
			<-begun
			done := make(chan error, 1)
			go func() { done <- read(r, v) }()
			for git.Stats(gitproc.Fetch).Queued == 0 {
				runtime.Gosched()
			}
			clock.Add(100)
			close(free)
			if err := errors.Join(<-held, <-done); err != nil || charged != 5000 {
				t.Errorf("charged %d steps, %v", charged, err)
			}
		})
	}
}

// Whatever git does is paid by the time that it takes.
func TestTheTimeOfGitIsPaid(t *testing.T) {
	w := newWorld(t, history)
	r := gitread.New(w.Disk, func() time.Time { w.now = w.now.Add(time.Second); return w.now })
	main, clash := w.ID("main"), w.ID("clash")
	for name, read := range map[string]func() error{
		"objects": func() error { _, err := r.Commit(t.Context(), w.visit, main); return err },
		"a list":  func() error { _, err := r.MergeBase(t.Context(), w.visit, main, clash); return err },
		"a merge": func() error { _, err := r.Merge(t.Context(), w.visit, main, clash); return err },
	} {
		w.charged = 0
		if err := read(); err != nil || w.charged < 1_000_000 {
			t.Errorf("%s: charged %d steps, %v", name, w.charged, err)
		}
	}
}

// Whether refs lead to a commit is kept for a generation of the refs.
func TestLed(t *testing.T) {
	w := newWorld(t, history)
	main, clash := w.ID("main"), w.ID("clash")
	for i, tt := range []struct {
		tips       []gitwire.ObjectID
		generation uint64
		to         gitwire.ObjectID
		want       bool
	}{
		{[]gitwire.ObjectID{main}, 1, w.ID("main~1"), true}, {[]gitwire.ObjectID{main}, 1, w.ID("side"), true}, {[]gitwire.ObjectID{main}, 1, clash, false}, {nil, 1, clash, false},
		{[]gitwire.ObjectID{main, clash}, 2, clash, true}, {[]gitwire.ObjectID{clash}, 3, main, false}, {[]gitwire.ObjectID{clash}, 3, w.ID("alone"), false}, {nil, 4, main, false},
	} {
		if led, err := w.r.Led(t.Context(), w.visit, tt.tips, tt.generation, tt.to); led != tt.want || err != nil {
			t.Errorf("%d: %v, %v", i+1, led, err)
		}
	}
	if led, err := w.r.Led(t.Context(), w.visit, []gitwire.ObjectID{main}, 1, w.Parse(absent)); led || !errors.Is(err, gitread.ErrNothing) {
		t.Errorf("what is not there: %v, %v", led, err)
	}
}
