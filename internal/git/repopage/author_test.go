package repopage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestTheRepositoriesOfSomebody: a key leads to what its owner has here, and a name without ".git" to the repository.
func TestTheRepositoriesOfSomebody(t *testing.T) {
	w := newWorld(t, "/git")
	add := func(by byte, d string, tags ...nostr.Tag) {
		e := w.announce(by, d, tags...)
		e.Tags[1][1] += "/git"
		e.ID = e.ComputeID()
		w.put(e)
		w.serve(address(by, d), 1, "")
	}
	add(1, "a b/ü", nostr.Tag{"name", "<i>Tool</i>"}, nostr.Tag{"description", "what it <b>does\nmore"})
	add(1, "second")
	add(2, "of somebody else")
	w.put(event(1, at+1, nostr.KindMetadata, `{"name":"Ann <b>"}`), event(1, at, 30617, "", nostr.Tag{"d", "elsewhere"}, nostr.Tag{"relays", "wss://other.example"}, nostr.Tag{"a", address(1, "second").String()}))
	w.serve(address(1, "elsewhere"), 1, "")
	path := "/git/" + nip19.Npub(key(1))
	rec := w.ask("GET", path, browser)
	page := rec.Body.String()
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	has(t, page, "<h1>Ann &lt;b&gt; (npub1", nip19.Npub(key(1))+"</p>", `<a href="/git`+pathOf(address(1, "a b/ü"))+`"><b>&lt;i&gt;Tool&lt;/i&gt;</b></a>`, "what it &lt;b&gt;does…", "<b>second</b>", `href="https://gitworkshop.dev/npub1`,
		`<link rel="canonical" href="https://git.example.org`+path+`">`, `<a href="/git/">All repositories of git.example.org/git</a>`)
	lacks(t, page, "somebody else", "elsewhere", "<i>", "<b>does")
	for typed, to := range map[string]string{
		path + "/" + grasp.Escape("a b/ü"): "/git" + pathOf(address(1, "a b/ü")), path + "/second/": path + "/second", path + "/second": path + "/second.git", path + "/nothing": path + "/nothing.git", path + "/second/tree/HEAD/a?x=1": path + "/second.git/tree/HEAD/a?x=1", path + "/second/issues": path + "/second.git/issues", path + "/second/pulls.atom": path + "/second.git/pulls.atom",
		"/git//" + nip19.Npub(key(1)): path,
	} {
		if rec := w.ask("GET", typed, browser); rec.Code != http.StatusMovedPermanently || rec.Header().Get("Location") != to {
			t.Errorf("%s: %d to %q, not %q", typed, rec.Code, rec.Header().Get("Location"), to)
		}
	}
	w.put(event(5, at, nostr.KindMetadata, `{"name":"Ben"}`))
	if rec := w.ask("GET", "/git/"+nip19.Npub(key(5)), browser); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "<h1>Ben (npub1") || !strings.Contains(rec.Body.String(), "None.") {
		t.Errorf("who wrote here and has no repository: %d %s", rec.Code, rec.Body)
	}
	for _, name := range []string{nip19.Npub(key(3)), "npub1x", "npub1"} {
		rec := w.ask("GET", "/git/"+name, browser)
		if rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), `<a href="/git/">All repositories`) {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/" + nip19.Npub(key(1)), "/git/" + nip19.Npub(key(1)) + "/a/b", "/git/" + nip19.Npub(key(1)) + "/a/info/refs", "/git/" + nip19.Npub(key(1)) + "/a/b/tree"} {
		if rec := w.ask("GET", path, browser); rec.Code != http.StatusTeapot {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
	for i := range 250 {
		add(4, fmt.Sprint("many", i))
	}
	finds := w.finds.Load()
	page = w.ask("GET", "/git/"+nip19.Npub(key(4)), browser).Body.String()
	if w.finds.Load() > finds {
		t.Error("the refs of all repositories are read")
	}
	if n := strings.Count(page, `class="row"`); n != 200 || !strings.Contains(page, ">200+</span>") {
		t.Errorf("%d repositories", n)
	}
}
