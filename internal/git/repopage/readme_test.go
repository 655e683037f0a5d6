package repopage_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/markdown"
)

// data is a repository's data that knows its files and the times of commits.
type data struct {
	files  map[string]string
	order  []string
	times  map[gitwire.ObjectID]int64
	fails  error
	large  bool
	asked  []gitread.Looking
	dirs   []string
	leave  func() // called meanwhile, where not nil
	takes  time.Duration
	chosen string
}

func (d *data) Look(ctx context.Context, dir string, l gitread.Looking) (gitread.Look, error) {
	d.asked, d.dirs = append(d.asked, l), append(d.dirs, dir)
	time.Sleep(d.takes)
	if d.leave != nil {
		d.leave()
		return gitread.Look{}, context.Cause(ctx)
	}
	if d.fails != nil {
		return gitread.Look{}, d.fails
	}
	found := gitread.Look{Times: map[gitwire.ObjectID]int64{}}
	for _, id := range l.Tips {
		if t, ok := d.times[id]; ok {
			found.Times[id] = t
		}
	}
	if l.Commit.IsZero() {
		return found, nil
	}
	if found.Name = d.chosen; found.Name == "" {
		found.Name = l.Choose(d.order)
	}
	if found.Large = d.large; !found.Large {
		found.Text = []byte(d.files[found.Name])
	}
	return found, ctx.Err()
}

// withData is a world with one repository whose HEAD has these files: names and contents.
func withData(t *testing.T, pairs ...string) (*world, *data) {
	t.Helper()
	d := &data{files: map[string]string{}, times: map[gitwire.ObjectID]int64{}}
	for i := 0; i < len(pairs); i += 2 {
		d.order = append(d.order, pairs[i])
		d.files[pairs[i]] = pairs[i+1]
	}
	w := newWorld(t, "", func(c *repopage.Config) { c.Reader = d })
	w.put(w.announce(1, "tool"))
	w.serve(address(1, "tool"), 1, "refs/heads/main", "refs/heads/main", "a")
	return w, d
}

func TestReadme(t *testing.T) {
	w, d := withData(t, "LICENSE", "secret", "README.de.md", "deutsch", "README.txt", "plain", "Readme.md",
		"# Tool <script>alert(1)</script>\n\nsee [the *guide*](docs/guide.md), [us](https://tool.example/x), ![shot](img/a.png) ![badge](https://ci.example/b.svg) and [evil](javascript:alert)\n\n```\na < b\n```\n",
		"readme.markdown", "other")
	page := w.page(address(1, "tool"))
	has(t, page, "<h2>Readme.md</h2>", "<h3>Tool alert(1)</h3>", "see the <em>guide</em>,", `<a href="https://tool.example/x" rel="nofollow noreferrer ugc">us</a>`,
		" shot ", `<a href="https://ci.example/b.svg" rel="nofollow noreferrer ugc">badge</a>`, "evil", "a &lt; b")
	lacks(t, page, "<script", "<img", "javascript:", "docs/guide", "img/a.png", "secret", "deutsch", "plain", "other", "the server is busy")
	l := d.asked[0]
	if len(l.Elsewhere) != 2 {
		t.Errorf("not looked for elsewhere: %+v", l)
	}
	if d.dirs[0] != "d" || l.Commit != id("a") || l.MaxBytes != 1<<20 || l.Party != "198.51.100.7" {
		t.Errorf("%q was asked for %+v", d.dirs[0], l)
	}
}

func TestReadmesThatAreNotMarkdown(t *testing.T) {
	for name, files := range map[string][]string{
		"README":     {"readme.txt", "x", "README", "# a <b>\n\x1b[31m *c* \u202e d"},
		"ReadMe.TXT": {"ReadMe.TXT", "# a <b>\n\x1b[31m *c* \u202e d", "readme.", "x", "readme.html", "x", "README-old.md", "x"},
		"README.rst": {"README.rst", "# a <b>\n\x1b[31m *c* \u202e d", "readme.org", "x"},
	} {
		w, _ := withData(t, files...)
		page := w.page(address(1, "tool"))
		has(t, page, "<h2>"+name+"</h2>", "# a &lt;b&gt;\n\x1b[31m *c* \\u202e d</pre>")
		lacks(t, page, "<b>", "<em>", "\u202e")
	}
	for what, files := range map[string][]string{"none": {"main.go", "x"}, "one that is no text": {"README", "a\x00b"}, "an empty one": {"README.md", ""}} {
		w, _ := withData(t, files...)
		if page := w.page(address(1, "tool")); strings.Contains(strings.ToLower(page), "readme") {
			t.Errorf("%s is shown", what)
		}
	}
}

// TestAReadmeInAnotherDirectory is shown with its path, in its format.
func TestAReadmeInAnotherDirectory(t *testing.T) {
	w, d := withData(t, "docs/README.md", "*a*")
	d.chosen = "docs/README.md"
	has(t, w.page(address(1, "tool")), "<h2>docs/README.md</h2>", "<em>a</em>")
}

// What is too large is not read, and of what is long the beginning is shown.
func TestLargeReadmes(t *testing.T) {
	for name, end := range map[string]string{"README.md": "…</p>", "README": "…</pre>"} {
		w, d := withData(t, name, strings.Repeat("ä word\n", markdown.MaxBytes))
		page := w.page(address(1, "tool"))
		if has(t, page, "ä word\n", end); len(page) > markdown.MaxBytes+20_000 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		d.large = true
		w.serve(address(1, "tool"), 2, "refs/heads/main", "refs/heads/main", "a")
		page = w.page(address(1, "tool"))
		has(t, page, "<h2>"+name+"</h2>", "too large for this page")
		lacks(t, page, "ä word")
	}
}

// TestNewestFirst: branches and tags stand in the order of their times, and of many the newest are shown.
func TestNewestFirst(t *testing.T) {
	w, d := withData(t)
	of := address(1, "tool")
	d.times = map[gitwire.ObjectID]int64{id("a"): 1700000000, id("b"): 1600000000, id("c"): 1750000000}
	w.serve(of, 2, "refs/heads/new", "refs/heads/a-old", "b", "refs/heads/new", "a", "refs/heads/unknown", "e", "refs/tags/v1", "b", "refs/tags/v2", "d",
		"refs/nostr/"+strings.Repeat("f", 64), "f")
	w.served[of].Refs.List[5].Peeled = id("c")
	page := w.page(of)
	last := -1
	for _, row := range []string{
		`<td>new</td><td><code>aaaaaaaaaa</code> <time class="dim">2023-11-14</time></td>`, `<td>a-old</td><td><code>bbbbbbbbbb</code> <time class="dim">2020-09-13</time></td>`,
		`<td>unknown</td><td><code>eeeeeeeeee</code></td>`, `<td>v2</td><td><code>cccccccccc</code> <time class="dim">2025-06-15</time></td>`,
		`<td>v1</td><td><code>bbbbbbbbbb</code> <time class="dim">2020-09-13</time></td>`, "Beside these 1 refs of pull requests",
	} {
		at := strings.Index(page, row)
		if at <= last {
			t.Errorf("%s stands at %d, behind %d", row, at, last)
		}
		last = at
	}
	if n := len(d.asked[0].Tips); n != 5 {
		t.Errorf("%d tips", n)
	}

	var pairs []string
	for i := range 300 {
		pairs = append(pairs, fmt.Sprintf("refs/heads/b%04d", i), map[bool]string{true: "a", false: "b"}[i >= 290])
	}
	w.serve(of, 3, "", pairs...)
	page = w.page(of)
	has(t, page, "<td>b0299</td>", "<td>b0189</td>", "The newest 200 of 300.")
	lacks(t, page, "<td>b0190</td>", "<td>b0289</td>")
}

// TestReadmesAreKept: as long as the refs and the data are the same git is not asked again.
func TestReadmesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := withData(t, "README.md", "first")
		of := address(1, "tool")
		look := func(want int, says ...string) {
			t.Helper()
			time.Sleep(time.Minute) // the page is made anew
			has(t, w.page(of), says...)
			if len(d.asked) != want {
				t.Errorf("git was asked %d times, want %d", len(d.asked), want)
			}
		}
		look(1, "first")
		d.files["README.md"] = "second"
		look(1, "first", "<td>main</td>")
		r := w.served[of]
		r.Generation++
		w.served[of] = r
		look(2, "second")
		d.files["README.md"] = "third"
		r.Dir = "e"
		w.served[of] = r
		look(3, "third")

		d.fails = fmt.Errorf("no slot: %w", gitproc.ErrBusy) // which is said, and tried again
		r.Generation++
		w.served[of] = r
		look(4, "the server is busy", "<td>main</td>")
		look(5, "the server is busy")
		d.fails = errors.New("broken") // which is tried again after a while
		look(6, "<td>main</td>")
		lacks(t, w.page(of), "busy", "README")
		d.fails = nil
		for range 9 {
			look(6, "<td>main</td>")
		}
		look(7, "third")

		r.Dir = ""
		w.served[of] = r
		look(7, "No git data is here yet")
	})
}

// TestWhoLeavesWhileGitReads: they get no page, and nobody gets one that lacks what was not read for them.
func TestWhoLeavesWhileGitReads(t *testing.T) {
	w, d := withData(t, "README.md", "text")
	of := address(1, "tool")
	ctx, cancel := context.WithCancel(t.Context())
	d.leave = cancel
	rec := w.askAs(ctx, "GET", pathOf(of), browser)
	d.leave = nil
	if has(t, w.page(of), "text"); rec.Body.Len() != 0 {
		t.Errorf("%q", rec.Body)
	}
}

// TestSlowRepositories: what takes long, or cannot be read, is left alone for a while, whatever refs its owner signs meanwhile and whoever leaves.
func TestSlowRepositories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := withData(t, "README.md", "text")
		w.peer = "127.0.0.1:1234" // who has no limits
		of := address(1, "tool")
		generation := uint64(1)
		look := func(pause time.Duration, want int, says string) {
			t.Helper()
			time.Sleep(pause)
			generation++
			w.serve(of, generation, "refs/heads/main", "refs/heads/main", "a")
			has(t, w.page(of), says, "<td>main</td>")
			if len(d.asked) != want {
				t.Errorf("git was asked %d times, want %d", len(d.asked), want)
			}
		}
		look(0, 1, "text")
		d.takes = 999 * time.Millisecond
		look(0, 2, "text")
		d.takes = 2 * time.Second
		look(0, 3, "text")
		look(0, 3, "leaves out the README for some minutes")
		look(119*time.Second, 3, "leaves out the README")
		d.takes = 20 * time.Second
		look(time.Second, 4, "text")
		look(10*time.Minute-time.Second, 4, "leaves out the README")
		d.fails, d.takes = errors.New("killed"), 0
		look(time.Second, 5, "<td>main</td>")
		look(10*time.Minute-time.Second, 5, "leaves out the README")
		d.fails = nil
		look(time.Second, 6, "text")

		for _, takes := range []time.Duration{time.Millisecond, time.Second} {
			ctx, cancel := context.WithCancel(t.Context())
			generation++
			w.serve(of, generation, "refs/heads/main", "refs/heads/main", "a")
			d.takes, d.leave = takes, cancel
			w.askAs(ctx, "GET", pathOf(of), browser)
		}
		d.leave = nil
		look(0, 8, "leaves out the README")

		time.Sleep(time.Hour)
		w.peer, d.takes = "198.51.100.7:1234", 900*time.Millisecond
		look(0, 9, "text")
		if rec := w.ask("GET", pathOf(of), browser); rec.Code != http.StatusTooManyRequests {
			t.Errorf("git worked for nothing: %d", rec.Code)
		}
	})
}

// TestOneReadsForAll: while somebody's page reads a repository others wait for what it finds, and may leave.
func TestOneReadsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := withData(t, "README.md", "text")
		d.takes = time.Minute
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { has(t, w.page(address(1, "tool")), "text") })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if rec := w.askAs(ctx, "GET", pathOf(address(1, "tool")), browser); rec.Body.Len() != 0 {
			t.Errorf("%q", rec.Body)
		}
		if all.Wait(); len(d.asked) != 1 {
			t.Errorf("git was asked %d times", len(d.asked))
		}
	})
}

// TestAReadmeNamesPeople: by what their profiles say now.
func TestAReadmeNamesPeople(t *testing.T) {
	npub := nip19.Npub(key(9))
	w, _ := withData(t, "README.md", "by nostr:"+npub)
	w.put(event(9, at, nostr.KindMetadata, `{"name":"somebody"}`))
	has(t, w.page(address(1, "tool")), "by @somebody ("+npub[:12])
}
