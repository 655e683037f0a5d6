package repopage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// codeWorld is a world with a real repository, tool by 1.
type codeWorld struct {
	*world
	repo *repotest.Repository
	path string
	who  int // asks, so that nobody asks for too much
}

func newCode(t testing.TB, imported string) *codeWorld {
	t.Helper()
	r := repotest.New(t, imported)
	w := &codeWorld{repo: r, path: pathOf(address(1, "tool")), world: newWorld(t, "", func(c *repopage.Config) {
		c.Code = gitread.New(r.Disk, nil)
		c.Reader = c.Code
		c.Now = func() time.Time { return time.Now() }
	})}
	w.put(w.announce(1, "tool", nostr.Tag{"name", "The <Tool>"}))
	w.served[address(1, "tool")] = repopage.Repository{Dir: r.At.String(), Generation: 1, Refs: r.Refs()}
	return w
}

func (w *codeWorld) get(path, accept string) *httptest.ResponseRecorder {
	w.Helper()
	w.who++
	return w.askFrom(fmt.Sprintf("198.51.%d.%d:1234", w.who/250, w.who%250), "GET", path, accept)
}

// see returns a page below that of the repository.
func (w *codeWorld) see(below string) string {
	w.Helper()
	rec := w.get(w.path+"/"+below, browser)
	if rec.Code != http.StatusOK {
		w.Fatalf("%s: %d: %s", below, rec.Code, rec.Body)
	}
	wellFormed(w, rec.Body.String())
	return rec.Body.String()
}

// wellFormed fails where a page has a script, a handler, a style of an element, or an id twice.
func wellFormed(t testing.TB, page string) {
	t.Helper()
	ids := map[string]bool{}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			x := z.Token()
			if x.Data == "script" || x.Data == "iframe" || x.Data == "object" || x.Data == "base" {
				t.Errorf("the page has %s", x)
			}
			for _, a := range x.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:"):
					t.Errorf("the page has %s", x)
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("the page has the id %s twice", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				}
			}
		}
	}
}

// goes asks for a page that is not there, or elsewhere.
func (w *codeWorld) goes(below string) (code int, to, page string) {
	w.Helper()
	rec := w.get(w.path+"/"+below, browser)
	return rec.Code, strings.TrimPrefix(rec.Header().Get("Location"), w.path+"/"), rec.Body.String()
}

const (
	pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345678\n"
	png     = "\x89PNG\r\n\x1a\n0000"
	evil    = "<script>alert(1)<\"'&" // a name
	evilURL = "%3Cscript%3Ealert%281%29%3C%22%27%26"
	absent  = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

var codeHistory = repotest.Commit("main", "First <b>\n\nBody <i>text</i>\n", 86_400, "",
	"100644 README.md", "# Tool\n\nsee [the guide](docs/guide.md#Use-it), ![shot](img/a.png), [up](../../x)\n\n- [ ] todo\n\n<script>alert(1)</script>\n",
	"100644 docs/guide.md", "# Use it\n\n[back](../README.md) [code](/src/main.go#L2) ![shot](../img/a.png)\n",
	"100644 src/main.go", "package main\n\nfunc main() { println(\"<b>\") } // end\n", "100755 run", "#!/bin/sh\n", "100644 img/a.png", png, "100644 logo.svg", "<svg onload=alert(1)/>",
	"100644 page.html", "<script>alert(1)</script>", "120000 link", "src/main.go", "120000 out", "../../etc/passwd", "120000 root", "/src/main.go", "160000 vendor/sub", absent,
	"100644 .gitmodules", "[submodule \"x\"]\n\turl = https://other.example/a.git\n\tpath = other\n[submodule \"y\"]\n\tpath = vendor/sub\n\turl = https://sub.example/s.git\n",
	"100644 big.bin", pointer, "100644 data", "a\x00b", "100644 empty", "", "100644 "+evil, "x\n", "100644 \"new\\nline\"", "y\n",
	"100644 日本/ファイル.txt", "z\n", "100644 שלום", "r\n", "100644 large.txt", strings.Repeat("a line of text\n", 60_000), "100644 latin", "caf\xe9\n",
	"100644 \"\\377\"", "bytes\n", "100644 dir/tree", "t\n") +
	repotest.Commit("main", "Second\n", 2*86_400, "", "100644 src/main.go", "package main\n\nfunc main() { println(\"<i>\") }\n", "-run", "") +
	repotest.Commit("feature/x", "On a branch\n", 3*86_400, "main", "100644 new", "n\n") +
	repotest.Commit("short", "Short\n", 4*86_400, "main", "100644 x/src/a", "n\n") +
	"tag v1\nfrom refs/heads/main\ntagger T <t@example.com> 1 +0000\ndata 3\nv1\n" + "reset refs/tags/v1.10\nfrom refs/heads/main\n\nreset refs/tags/v1.9\nfrom refs/heads/main\n\n" + "reset refs/tags/main\nfrom refs/heads/feature/x\n\nreset refs/tags/feature\nfrom refs/heads/short\n\n"

// TestTheOverviewLeadsToFiles: the page of a repository leads to the files of each branch and tag, by the name under which they are found.
func TestTheOverviewLeadsToFiles(t *testing.T) {
	w := newCode(t, codeHistory)
	w.served[address(1, "tool")].Refs.List = append(w.served[address(1, "tool")].Refs.List, gitwire.Ref{Name: "refs/tags/zkey", ID: w.repo.ID("refs/heads/main:README.md")})
	page := w.get(w.path, browser).Body.String()
	for name, at := range map[string]string{"main": "main", "feature/x": "feature/x", "v1": "v1"} {
		has(t, page, `<td><a href="`+w.path+"/tree/"+at+`">`+name+"</a></td>")
	}
	has(t, page, `<td><a href="`+w.path+`/tree/refs/tags/main">main</a></td>`, "<td>zkey</td>")
	for _, section := range []string{"tree", "blob", "commits"} { // whoever takes the end off a URL
		if code, to, _ := w.goes(section); code != http.StatusFound || to != section+"/HEAD" {
			t.Errorf("%s: %d to %s", section, code, to)
		}
	}
}

func TestTree(t *testing.T) {
	w := newCode(t, codeHistory)
	page := w.see("tree/main")
	has(t, page, "<h1>The &lt;Tool&gt;</h1>", `href="`+w.path+`/tree/main/src"><bdi>src</bdi></a>/`, `href="`+w.path+`/blob/main/page.html"><bdi>page.html</bdi></a>`,
		`blob/main/`+evilURL+`"><bdi>&lt;script&gt;alert(1)&lt;&#34;&#39;&amp;</bdi>`, `blob/main/new%0Aline"><bdi>new\nline</bdi>`, "<bdi>שלום</bdi>", "<bdi>日本</bdi></a>/", `blob/main/%FF"`,
		`<span class="dim">link</span>`, "Second", "First &lt;b&gt;", "1970-01-02", "1970-01-03", "git clone https://git.example.org/",
		`href="`+w.path+"/tree/"+w.repo.ID("refs/heads/main").String()+`">permanent link`, `href="`+w.path+`/commits/main"`,
		`<h3 id="md-tool">Tool</h3>`, `<a href="`+w.path+`/blob/main/docs/guide.md#md-use-it"`, `<img src="`+w.path+`/raw/main/img/a.png" alt="shot"`, `aria-label="to do"`, "878.9 KiB", `aria-current="page">Files`)
	lacks(t, page, "alert(1)</script>", `href="../../x"`, "run</bdi>", "vendor/sub")
	page = w.see("tree/main/vendor")
	has(t, page, `<span class="dim">submodule</span>`, "<h1>vendor</h1>", `<a href="`+w.path+`/tree/main">..</a>`)
	has(t, w.see("tree/HEAD"), "Second")
	has(t, w.see("tree/v1"), "Second", `href="`+w.path+`/archive/v1.tar.gz" rel="nofollow"`)
	has(t, w.see("tree/feature/x"), "On a branch", ">new<")      // the branch, and not a path of the branch feature
	has(t, w.see("tree/feature/x/src"), "main.go")               // its path
	has(t, w.see("tree/refs/tags/feature/x/src"), ">a<")         // every ref by its full name
	has(t, w.see("tree/refs/tags/main"), "On a branch", ">new<") // a tag that has the name of a branch
	lacks(t, w.see("tree/main"), "On a branch")
	rec := w.get(w.path+"/tree/"+w.repo.ID("refs/heads/main").String()+"/src", browser)
	if h := rec.Header(); rec.Code != 200 || !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("ETag") == "" {
		t.Errorf("a permanent link: %d, %v", rec.Code, h)
	}
	rec = w.get(w.path+"/tree/main", browser)
	if h := rec.Header(); h.Get("Cache-Control") != "no-cache" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") || !strings.HasSuffix(h.Get("Content-Security-Policy"), "img-src data: 'self'") {
		t.Errorf("a branch: %v", h)
	}
	for below, to := range map[string]string{"tree/main/src/main.go": "blob/main/src/main.go", "blob/feature/x/src": "tree/feature/x/src", "blob/main": "tree/main", "commit/main": "commit/" + w.repo.ID("refs/heads/main").String()} {
		if code, got, _ := w.goes(below); code != http.StatusFound || got != to {
			t.Errorf("%s: %d, %s", below, code, got)
		}
	}
}

// TestTheReadmeOfADirectoryIsALink: the page shows what it leads to, under its name and with links as from where it stands; where it leads to no file
// of the repository, the next best.
func TestTheReadmeOfADirectoryIsALink(t *testing.T) {
	w := newCode(t, repotest.Commit("main", "First\n", 86_400, "", "100644 docs/guide.md", "# Use it\n\n[other](x.md)\n", "120000 README.md", "docs/guide.md",
		"120000 sub/README.md", "../../etc/passwd", "100644 sub/readme.txt", "plain text", "120000 deep/er/README", "../../README.md", "120000 loop/README", "README"))
	has(t, w.see("tree/main"), "<h2>README.md</h2>", `<h3 id="md-use-it">Use it</h3>`, `<a href="`+w.path+`/blob/main/x.md"`)
	has(t, w.see("tree/main/sub"), "<h2>readme.txt</h2>", "plain text")
	has(t, w.see("tree/main/deep/er"), "<h2>README</h2>", "# Use it")
	lacks(t, w.see("tree/main/loop"), "<h2>")
}

func TestBlob(t *testing.T) {
	w := newCode(t, codeHistory)
	has(t, w.see("blob/main/src/main.go"), `<span id="L1"><a href="#L1">1</a><span class="k">package</span> main`, `<span id="L3">`, `<span class="s">&#34;&lt;i&gt;&#34;</span>`, "raw/main/src/main.go",
		`<a href="`+w.path+`/tree/main/src"><bdi>src</bdi></a>`)
	page := w.see("blob/main/docs/guide.md")
	has(t, page, `<h2 id="md-use-it">`, `<a href="`+w.path+`/blob/main/README.md"`, `<a href="`+w.path+`/blob/main/src/main.go#L2"`, `<img src="`+w.path+`/raw/main/img/a.png"`, `href="?plain=1"`)
	has(t, w.see("blob/main/docs/guide.md?plain=1"), "# Use it", `href="?"`, `id="L1"`)
	for name, want := range map[string]string{
		"link": `A symbolic link to <a href="` + w.path + `/blob/main/src/main.go"><code>src/main.go</code></a>`, "out": "A symbolic link to <code>../../etc/passwd</code>",
		"root":       "A symbolic link to <code>/src/main.go</code>",
		"vendor/sub": "the commit <code>" + absent + "</code> of another repository, <code>https://sub.example/s.git</code>",
		"big.bin":    "kept in LFS, and has 11.8 MiB", "data": "This file is binary", "empty": "This file is empty", "img/a.png": `<img src="` + w.path + `/raw/main/img/a.png" alt="a.png">`,
		"logo.svg": `<img src="` + w.path + `/raw/main/logo.svg"`, "page.html": `<span class="f">script</span>`, evilURL: "<h1>&lt;script&gt;alert(1)&lt;&#34;&#39;&amp;</h1>", "new%0Aline": `<h1>new\nline</h1>`,
		"large.txt": `too large to be shown: look at it <a href="` + w.path + `/raw/main/large.txt"`, "latin": "caf\ufffd", "%FF": "bytes", "日本/ファイル.txt": "<h1>ファイル.txt</h1>", "dir/tree": "<h1>tree</h1>",
	} {
		page := w.see("blob/main/" + name)
		has(t, page, want)
		lacks(t, page, "<script", "onload=")
	}
	has(t, w.see("blob/"+w.repo.ID("refs/heads/main~1").String()+"/run"), "executable", ">commit <b>")
}

func TestRaw(t *testing.T) {
	w := newCode(t, codeHistory)
	for name, kind := range map[string]string{
		"page.html": "text/plain; charset=utf-8", "logo.svg": "image/svg+xml", "img/a.png": "image/png", "src/main.go": "text/plain; charset=utf-8", "latin": "text/plain", "empty": "text/plain; charset=utf-8",
		"big.bin": "text/plain; charset=utf-8", "large.txt": "text/plain; charset=utf-8",
	} {
		rec := w.get(w.path+"/raw/main/"+name, "image/avif,image/webp,*/*;q=0.1")
		h := rec.Header()
		if rec.Code != 200 || h.Get("Content-Type") != kind || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %v", name, rec.Code, h)
		}
		if want := w.repo.Git("", "cat-file", "blob", "refs/heads/main:"+name); rec.Body.String() != want {
			t.Errorf("%s: %d bytes", name, rec.Body.Len())
		}
	}
	for _, name := range []string{"data", "link", "vendor/sub", "src", "nothing"} {
		if rec := w.get(w.path+"/raw/main/"+name, "image/png"); rec.Code != http.StatusNotFound || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d, %v", name, rec.Code, rec.Header())
		}
	}
	fixed := w.path + "/raw/" + w.repo.ID("refs/heads/main").String() + "/img/a.png"
	if rec := w.get(fixed, ""); !strings.Contains(rec.Header().Get("Cache-Control"), "immutable") || rec.Header().Get("ETag") == "" {
		t.Errorf("%v", rec.Header())
	}
}

func TestCommits(t *testing.T) {
	w := newCode(t, codeHistory)
	has(t, w.see("commits/main"), "<h2><time>1970-01-03</time></h2>", "Second", "First &lt;b&gt;", "by <bdi>A</bdi>", `href="`+w.path+"/commit/"+w.repo.ID("refs/heads/main").String())
	has(t, w.see("commits/feature/x"), "On a branch", "Second")
	page := w.see("commits/main?from=" + w.repo.ID("refs/heads/main~1").String())
	has(t, page, "First")
	lacks(t, page, "Second", `rel="next"`)
	page = w.see("commit/" + w.repo.ID("refs/heads/main").String())
	has(t, page, "<h1>Second</h1>", "<bdi>A</bdi></b>, <time>1970-01-03", "committed by <bdi>C</bdi>", "parent", "First &lt;b&gt;", `2 files changed, <span class="plus">+1</span> <span class="minus">−2</span>`, "deleted",
		`<span class="d"><i>3</i><i></i>-func main() { println(&#34;&lt;b&gt;&#34;) } // end`, `<span class="a"><i></i><i>3</i>+func main()`, `href="#f1"`, `id="f1"`)
	page = w.see("commit/" + w.repo.ID("refs/heads/main~1").String())
	has(t, page, "First &lt;b&gt;", "Body &lt;i&gt;text&lt;/i&gt;", "binary", "60000 lines, left out here")
	if len(page) > 400_000 {
		t.Errorf("%d bytes", len(page))
	}
}

// Each page of a long history begins behind the last, and none is longer than its bound.
func TestManyCommits(t *testing.T) {
	var all strings.Builder
	for i := range 100 {
		all.WriteString(repotest.Commit("main", fmt.Sprintf("Change %d.", i), 1000+i, "", "100644 f", fmt.Sprint(i)))
	}
	w := newCode(t, all.String())
	next, seen := "commits/main", ""
	for n := 0; next != ""; n++ {
		page := w.see(next)
		seen += page
		_, rest, ok := strings.Cut(page, `rel="next" href="`)
		if next = ""; ok {
			query, _, _ := strings.Cut(rest, `"`)
			next = "commits/main" + query
		}
		if n > 4 {
			t.Fatal("no end")
		}
	}
	for i := range 100 {
		if n := strings.Count(seen, fmt.Sprintf("<bdi>Change %d.</bdi>", i)); n != 1 {
			t.Errorf("change %d stands on %d pages", i, n)
		}
	}
}

func TestBranchesAndTags(t *testing.T) {
	w := newCode(t, codeHistory)
	page := w.see("branches")
	has(t, page, "HEAD</span>", `href="`+w.path+`/tree/feature/x"><bdi>feature/x</bdi>`, "On a branch", "1970-01-04")
	if strings.Index(page, "<bdi>main</bdi>") > strings.Index(page, "<bdi>feature/x</bdi>") {
		t.Error("HEAD is not first")
	}
	page = w.see("tags")
	has(t, page, `href="`+w.path+`/tree/refs/tags/main"><bdi>main</bdi>`, `href="`+w.path+`/archive/refs/tags/main.tar.gz" rel="nofollow"`, `href="`+w.path+`/archive/v1.9.tar.gz"`)
	has(t, w.page(address(1, "tool")), `href="`+w.path+`/archive/HEAD.tar.gz"`)
	if a, b, c := strings.Index(page, "<bdi>v1.10<"), strings.Index(page, "<bdi>v1.9<"), strings.Index(page, "<bdi>v1<"); a < 0 || b < a || c < b {
		t.Errorf("tags are at %d, %d, %d", a, b, c)
	}
	r := w.served[address(1, "tool")]
	refs := &gitwire.Refs{Head: r.Refs.Head}
	for i := range 250 {
		refs.List = append(refs.List, gitwire.Ref{Name: fmt.Sprintf("refs/heads/b%03d", i), ID: w.repo.ID("refs/heads/main")})
	}
	r.Refs = refs
	w.served[address(1, "tool")] = r
	page = w.see("branches?page=3")
	has(t, page, "page 3 of 3, 250 in all", "<bdi>b249</bdi>", `href="?page=2"`)
	lacks(t, page, "b199<", `href="?page=4"`)
}

// A directory of 20,000 entries has pages.
func TestALargeDirectory(t *testing.T) {
	files := []string{"100644 README", "read me"}
	for i := range 20_000 {
		files = append(files, fmt.Sprintf("100644 d/%05d", i), "x")
	}
	w := newCode(t, repotest.Commit("main", "Many", 1000, "", files...))
	page := w.see("tree/main/d?page=40")
	has(t, page, "page 40 of 40, 20000 entries", "<bdi>19999</bdi>", `href="?page=39"`)
	lacks(t, page, "19499<", "?page=41")
	if page = w.see("tree/main/d"); len(page) > 300_000 {
		t.Errorf("the first page has %d bytes", len(page))
	}
	for _, number := range []string{"41", "0", "-1", "x", "99999999999999999999"} {
		if code, _, _ := w.goes("tree/main/d?page=" + number); code != http.StatusNotFound {
			t.Errorf("page %s: %d", number, code)
		}
	}
}

// The page of a large directory is made once: after that it costs nothing that grows with the directory. What another page shows is made anew.
func TestPagesOfCodeAreKept(t *testing.T) {
	var files []string
	for i := range 5000 {
		files = append(files, fmt.Sprintf("100644 d/%05d", i), "x")
	}
	w := newCode(t, repotest.Commit("main", "Many", 1000, "", files...)+repotest.Commit("other", "Other", 2000, "main", "100644 d/new", "x"))
	for _, below := range []string{"tree/main/d", "commit/" + w.repo.ID("refs/heads/main").String()} {
		page := w.see(below)
		if n := testing.AllocsPerRun(1, func() { w.get(w.path+"/"+below, browser) }); n > 1000 {
			t.Errorf("%s: %v allocations", below, n)
		}
		if w.see(below) != page {
			t.Errorf("%s has become another page", below)
		}
	}
	has(t, w.see("tree/main/d?page=2"), "<bdi>00999</bdi>", "page 2 of 10")
	has(t, w.see("tree/other/d?page=11"), "<bdi>new</bdi>", "/blob/other/")
	r := w.served[address(1, "tool")]
	r.Refs, r.Generation = &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "refs/heads/main", ID: w.repo.ID("refs/heads/other")}}}, 2
	w.served[address(1, "tool")] = r
	has(t, w.see("tree/main/d"), "Other")
	e := event(1, at+1, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"relays", "wss://" + domain}, nostr.Tag{"clone", w.rules.Service.CloneURL(key(1), "tool")}, nostr.Tag{"name", "Renamed"})
	w.put(e)
	has(t, w.see("tree/main/d"), "Renamed")
}

// What is not there has a page that leads back, and nothing that is not for strangers is told.
func TestNothingThere(t *testing.T) {
	w := newCode(t, codeHistory)
	for _, below := range []string{
		"tree/nothing", "tree/main/nothing", "blob/main/src/none.go", "raw/main/none", "commits/none", "commit/none", "commit/" + absent, "tree/" + absent, "commits/main/src", "commits/main?from=x", "commits/main?from=" + absent,
		"tree/main/%2e%2e/x", "tree/main/src%00", "branches/x", "commit/" + w.repo.ID("refs/heads/main^{tree}").String(), "tree/" + w.repo.ID("refs/heads/main:README.md").String(), "blob/main/" + strings.Repeat("a/", 300) + "x", "tree/refs/heads", "raw", "raw/main", "commit",
	} {
		code, _, page := w.goes(below)
		if code != http.StatusNotFound && code != http.StatusTeapot {
			t.Errorf("%s: %d", below, code)
		}
		if code == http.StatusNotFound {
			wellFormed(t, page)
			has(t, page, `href="/"`)
		}
	}
	_, _, page := w.goes("blob/main/none")
	has(t, page, `href="`+w.path+`"`, "The &lt;Tool&gt;")
	if rec := w.get(pathOf(address(2, "tool"))+"/tree/main", browser); rec.Code != http.StatusNotFound {
		t.Errorf("somebody else's: %d", rec.Code)
	}

	of := address(1, "tool")
	r := w.served[of]
	w.served[of] = repopage.Repository{Refs: &gitwire.Refs{}}
	for _, below := range []string{"tree/HEAD", "commits/HEAD", "branches", "blob/main/x", "commit/" + absent} {
		if code, _, page := w.goes(below); code != http.StatusNotFound || !strings.Contains(page, "No git data is here yet") {
			t.Errorf("without data: %s: %d", below, code)
		}
	}
	w.served[of] = repopage.Repository{Dir: r.Dir, Refs: &gitwire.Refs{Head: "refs/heads/main"}}
	if code, _, page := w.goes("tree/HEAD"); code != http.StatusNotFound || !strings.Contains(page, "There are no files here yet") {
		t.Errorf("of an empty repository: %d", code)
	}
	has(t, w.see("branches"), "None.")
	delete(w.served, of) // as one that was taken down
	for _, below := range []string{"tree/main", "raw/main/src/main.go", "commit/" + w.repo.ID("refs/heads/main").String()} {
		if code, _, _ := w.goes(below); code != http.StatusNotFound {
			t.Errorf("taken down: %s: %d", below, code)
		}
	}
}

// An announcement that waits for git data shows nobody what was pushed.
func TestCodeThatWaitsIsNotShown(t *testing.T) {
	w := newCode(t, codeHistory)
	other := address(3, "other")
	w.served[other] = w.served[address(1, "tool")]
	for _, below := range []string{"tree/main", "raw/main/src/main.go", "branches"} {
		if rec := w.get(pathOf(other)+"/"+below, browser); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", below, rec.Code)
		}
	}
}

// What no ref leads to is not shown by its id either: it may have been taken back, or nobody has signed for it.
func TestWhatWasTakenBackIsNotShown(t *testing.T) {
	w := newCode(t, codeHistory+repotest.Commit("gone", "One\n", 5*86_400, "main", "100644 new", "n\n")+repotest.Commit("gone", "Two\n", 6*86_400, "", "100644 new", "o\n"))
	kept, tip, behind := w.repo.ID("refs/heads/main~1").String(), w.repo.ID("refs/heads/gone").String(), w.repo.ID("refs/heads/gone~1").String()
	below := func(id string) []string {
		return []string{"commit/" + id, "tree/" + id, "blob/" + id + "/README.md", "raw/" + id + "/README.md", "commits/" + id, "commits/main?from=" + id}
	}
	ask := func(when string, id string, want int) {
		for _, path := range below(id) {
			if code, _, _ := w.goes(path); code != want {
				t.Errorf("%s: %s: %d", when, path, code)
			}
		}
	}
	r := w.served[address(1, "tool")]
	refs := *r.Refs
	refs.List = slices.DeleteFunc(slices.Clone(refs.List), func(x gitwire.Ref) bool { return x.ID.String() == tip })
	for _, at := range []struct {
		when string
		r    repopage.Repository
		want int
	}{{"before", r, http.StatusOK}, {"taken back", repopage.Repository{Dir: r.Dir, Generation: 2, Refs: &refs}, http.StatusNotFound}, {"back again", repopage.Repository{Dir: r.Dir, Generation: 3, Refs: r.Refs}, http.StatusOK}} {
		w.served[address(1, "tool")] = at.r
		ask(at.when, kept, http.StatusOK)
		ask(at.when, tip, at.want)
		ask(at.when, behind, at.want)
	}
}

// The README on the repository's own page leads to files of HEAD, and the page to all of these.
func TestTheReadmeLeadsToFiles(t *testing.T) {
	w := newCode(t, codeHistory)
	page := w.page(address(1, "tool"))
	has(t, page, `<a href="`+w.path+`/blob/HEAD/docs/guide.md#md-use-it"`, `<img src="`+w.path+`/raw/HEAD/img/a.png"`, `href="`+w.path+`/tree/HEAD"`, `href="`+w.path+`/tags"`)
	wellFormed(t, page)
	has(t, w.see("blob/HEAD/docs/guide.md"), `id="md-use-it"`)
}

// Who asks for pages pays for each before it is made. What is kept costs no more than the request.
func TestCodeIsPaidFor(t *testing.T) {
	const most = 150
	var all strings.Builder
	for i := range most {
		all.WriteString(repotest.Commit("main", fmt.Sprint(i), 1000+i, "", "100644 f", fmt.Sprint(i)))
	}
	w := newCode(t, all.String())
	commits := strings.Fields(w.repo.Git("", "rev-list", "main"))
	until := func(peer string, of func(i int) string) (n int) {
		for n < most && w.askFrom(peer, "GET", w.path+"/commit/"+of(n), browser).Code == http.StatusOK {
			n++
		}
		return n
	}
	until("203.0.113.3:1", func(int) string { return commits[0] }) // else the page would have to be made by who is to find it kept
	kept := until("203.0.113.1:1", func(int) string { return commits[0] })
	new := until("203.0.113.2:1", func(i int) string { return commits[i] })
	if new == 0 || kept < 2*new {
		t.Errorf("somebody gets %d new pages, and one that is kept %d times", new, kept)
	}
}

// Who has much sent pays for that, each time: an answer that is kept is hashed and compressed for everybody anew.
func TestWhatIsSentIsPaidFor(t *testing.T) {
	large := strings.Repeat("some line of text\n", 50_000)
	w := newCode(t, repotest.Commit("main", "files", 1000, "", "100644 large", large, "100644 small", "a line\n", "100644 long", large[:len(large)/6]))
	until := func(peer, path string) (n int) {
		for n < 150 && w.askFrom(peer, "GET", w.path+path, browser).Code == http.StatusOK {
			n++
		}
		return n
	}
	small := until("203.0.113.1:1", "/raw/main/small")
	for peer, path := range map[string]string{"203.0.113.2:1": "/raw/main/large", "203.0.113.3:1": "/blob/main/long"} {
		if n := until(peer, path); n == 0 || n > small*2/3 {
			t.Errorf("%s: somebody gets it %d times, and a small file %d times", path, n, small)
		}
	}
}

// Who asks for pages of very many refs pays for putting these in order, and does so among those for whom pages are made.
func TestManyRefsArePaidFor(t *testing.T) {
	w := newCode(t, codeHistory)
	ask := func(peer string, most int) (n int) {
		for n < most && w.askFrom(peer, "GET", w.path+"/tags", browser).Code == http.StatusOK {
			n++
		}
		return n
	}
	few := ask("203.0.113.1:1", 90)
	r := w.served[address(1, "tool")]
	refs, main := &gitwire.Refs{Head: r.Refs.Head}, w.repo.ID("refs/heads/main")
	for i := range 10_000 {
		refs.List = append(refs.List, gitwire.Ref{Name: fmt.Sprintf("refs/tags/v%05d", i), ID: main})
	}
	r.Refs = refs
	w.served[address(1, "tool")] = r
	if many := ask("203.0.113.2:1", few/3+1); many == 0 || many > few/3 {
		t.Errorf("the page of few tags comes %d times, and that of many %d times", few, many)
	}
}
