package repopage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func forContributors(c *repopage.Config) { c.Contributors = true }

// contribute has these pull requests be served from the contributed repository of somebody.
func (w *world) contribute(by byte, d string, generation uint64, events ...*nostr.Event) nip34.Address {
	of := grasp.Contributed(key(by), d)
	r := repopage.Repository{Dir: "d", Generation: generation, Refs: &gitwire.Refs{}}
	for _, e := range events {
		r.Refs.List = append(r.Refs.List, gitwire.Ref{Name: refs.TipName(e.ID), ID: id("c")})
	}
	r.Refs.Sort()
	w.served[of] = r
	return of
}

func (w *world) prs(of nip34.Address) string { return w.rules.Service.Base() + "/prs" + pathOf(of) }

func TestThePageOfAContributor(t *testing.T) {
	w := newWorld(t, "", forContributors)
	here, a := tool(w)
	elsewhere := nostr.Tag{"a", address(9, "tool").String()}
	commit := nostr.Tag{"c", strings.Repeat("c", 40)}
	one := event(7, at+1, nip34.KindPullRequest, "", a, commit, nostr.Tag{"subject", "<b>one</b>"})
	two := event(7, at+2, nip34.KindPullRequest, "", elsewhere, commit, nostr.Tag{"subject", "two"})
	update := event(7, at+3, nip34.KindPullRequestUpdate, "", a, commit, nostr.Tag{"E", one.ID.String()})
	other := event(7, at+4, nip34.KindPullRequest, "", a, commit, nostr.Tag{"subject", "through another"})
	w.put(one, two, update, other, event(7, at, nostr.KindMetadata, `{"name":"Grace"}`))
	of := w.contribute(7, "tool", 1, one, two, update)
	rec := w.ask("GET", w.prs(of), browser)
	page := rec.Body.String()
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Security-Policy") == "" {
		t.Fatalf("%d: %s", rec.Code, page)
	}
	url := "https://git.example.org/prs" + pathOf(of)
	order(t, page, `<link rel="canonical" href="`+url+`"`, "<h1>Pull requests for tool</h1>", "By <b>Grace (", nip19.Npub(key(7)), `<span class="dim">3</span>`,
		`<a href="`+pathOf(here)+"/pulls/"+nip19.Note(one.ID)+"#"+nip19.Note(update.ID)+`">Update of a pull request</a>`,
		"<td>two <span", `<a href="`+pathOf(here)+"/pulls/"+nip19.Note(one.ID)+`">&lt;b&gt;one&lt;/b&gt;</a>`,
		"git fetch "+url+" "+refs.TipName(update.ID)+"</pre>")
	has(t, page, "<code>cccccccccc</code>")
	lacks(t, page, "through another", "<script", "git clone")
	if rec = w.ask("HEAD", w.prs(of), browser); rec.Code != http.StatusOK || rec.Header().Get("Content-Length") != fmt.Sprint(len(page)) {
		t.Errorf("HEAD: %d %v", rec.Code, rec.Header())
	}
	w.contribute(7, "tool", 2, other)
	has(t, w.ask("GET", w.prs(of), browser).Body.String(), "through another")
}

// TestManyContributions: the newest are shown, and how many there are.
func TestManyContributions(t *testing.T) {
	w := newWorld(t, "", forContributors)
	var all []*nostr.Event
	for i := range 40 {
		all = append(all, event(7, at+int64(i), nip34.KindPullRequest, "", nostr.Tag{"a", address(9, "tool").String()}, nostr.Tag{"c", strings.Repeat("c", 40)},
			nostr.Tag{"subject", fmt.Sprintf("pull %d.", i)}))
	}
	w.put(all...)
	page := w.ask("GET", w.prs(w.contribute(7, "tool", 1, all...)), browser).Body.String()
	has(t, page, "pull 39.", "pull 10.", "The newest 30 of 40.")
	lacks(t, page, "pull 9.")
}

func TestPathsOfContributors(t *testing.T) {
	off := newWorld(t, "/git")
	on := newWorld(t, "/git", forContributors)
	e := event(7, at, nip34.KindPullRequest, "", nostr.Tag{"a", address(9, "tool").String()}, nostr.Tag{"c", strings.Repeat("c", 40)})
	on.put(e)
	of := on.contribute(7, "tool", 1, e)
	on.served[grasp.Contributed(key(8), "tool")] = repopage.Repository{Refs: &gitwire.Refs{}}
	path := on.prs(of)
	for _, c := range []struct {
		w                    *world
		method, path, accept string
		says                 string
		code                 int
	}{
		{on, "GET", path, browser, "Pull requests for tool", 200},
		{on, "GET", path, "", "Pull requests for tool", 200},
		{on, "GET", on.prs(grasp.Contributed(key(8), "tool")), browser, "Nothing has been contributed here yet", 404},
		{on, "GET", on.prs(grasp.Contributed(key(7), "other")), browser, "Nothing has been contributed here yet", 404},
		{on, "GET", "/git/prs/npub1xyz/tool.git", browser, "This is not the URL of a repository", 400},
		{on, "GET", path + "/issues", browser, "somebody else's", 418},
		{on, "GET", path + "/info/refs", browser, "somebody else's", 418},
		{on, "GET", "/git/prs", browser, "somebody else's", 418},
		{on, "GET", "/git/prs/note1x", browser, "somebody else's", 418},
		{on, "POST", path, browser, "somebody else's", 418},
		{on, "GET", path, "application/nostr+json", "somebody else's", 418},
		{on, "GET", "/git" + pathOf(of), browser, "There is no such repository here", 404},
		{off, "GET", path, browser, "somebody else's", 418},
	} {
		rec := c.w.ask(c.method, c.path, c.accept)
		if rec.Code != c.code || !strings.Contains(rec.Body.String(), c.says) {
			t.Errorf("%s %s (%s): %d %s", c.method, c.path, c.accept, rec.Code, rec.Body)
		}
	}
}
