package repopage_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/web"
)

// below is a page below that of a repository.
func (w *world) below(of nip34.Address, rest string) string {
	w.Helper()
	rec := w.ask("GET", pathOf(of)+"/"+rest, browser)
	if rec.Code != http.StatusOK {
		w.Fatalf("%s: %d: %s", rest, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// order fails unless these stand on the page one after the other.
func order(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, s := range all {
		i := strings.Index(page, s)
		if i < 0 {
			t.Errorf("the page lacks %s, or it stands too early", s)
			continue
		}
		page = page[i+len(s):]
	}
}

func tool(w *world) (of nip34.Address, a nostr.Tag) {
	of = address(1, "tool")
	w.put(w.announce(1, "tool", nostr.Tag{"name", "Tool"}, nostr.Tag{"maintainers", key(2).String()}), w.announce(2, "tool", nostr.Tag{"maintainers", key(1).String()}))
	w.serve(of, 1, "")
	return of, nostr.Tag{"a", of.String()}
}

func TestIssue(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(7, at+1, nip34.KindIssue, "It **breaks** <script>alert(1)</script>, says nostr:"+nip19.Npub(key(8)), a, nostr.Tag{"subject", "an <b>issue"}, nostr.Tag{"t", "bug"})
	id := issue.ID.String()
	root := nostr.Tag{"E", id}
	first := event(8, at+2, nostr.KindComment, "first", root, nostr.Tag{"K", "1621"}, nostr.Tag{"k", "1621"}, nostr.Tag{"e", id})
	closed := event(1, at+4, nip34.KindStatusClosed, "enough", nostr.Tag{"e", id, "", "root"})
	w.put(issue, first,
		event(8, at+3, nip34.KindReplyOld, "second", nostr.Tag{"e", id, "", "root"}), closed,
		event(9, at+5, nip34.KindStatusApplied, "by a stranger", nostr.Tag{"e", id, "", "root"}),
		event(9, at+6, nostr.KindNote, "fourth", nostr.Tag{"e", id, "", "root"}),
		event(2, at+7, nip34.KindStatusOpen, "", nostr.Tag{"e", id, "", "root"}),
		event(8, at, nostr.KindMetadata, `{"name":"Eve (npub1other)\u202e","display_name":7}`))
	path := "issues/" + nip19.Note(issue.ID)
	page := w.below(of, path)
	npub := nip19.Npub(key(8))
	eve := "Eve npub1other (" + npub[:12] + "…" + npub[len(npub)-4:] + ")"
	has(t, page, "<h1>an &lt;b&gt;issue</h1>", "<strong>breaks</strong>", `<span class="state open">open</span> issue by`, " · bug", "@"+eve, `<link rel="canonical" href="https://git.example.org`+pathOf(of)+"/"+path+`">`)
	order(t, page, "first", "second", "set this to closed", "enough", "fourth", "set this to open")
	lacks(t, page, "by a stranger", "<script", "\u202e", "waiting")
	for _, name := range []string{nip19.Note(issue.ID), nip19.Note(first.ID)} {
		rec := w.ask("GET", "/"+name, browser)
		if to := rec.Header().Get("Location"); rec.Code != http.StatusFound || !strings.HasPrefix(to, pathOf(of)+"/"+path) || strings.HasSuffix(to, "#"+nip19.Note(first.ID)) != (name == nip19.Note(first.ID)) {
			t.Errorf("%s: %d %s", name, rec.Code, to)
		}
	}
	for rest, code := range map[string]int{
		"issues/" + id: 302, "pulls/" + nip19.Note(issue.ID): 302, "issues/note1xyz": 404, "issues/" + nip19.Note(first.ID): 404, "issues/" + nip19.Note(nostr.ID{5}): 404, path + "?page=2": 404, path + "?page=x": 404,
		path + "?page=1": 200, "issues": 200, "issues?status=nonsense&after=nonsense": 200,
	} {
		if rec := w.ask("GET", pathOf(of)+"/"+rest, browser); rec.Code != code {
			t.Errorf("%s: %d %s", rest, rec.Code, rec.Header().Get("Location"))
		}
	}
	for _, path := range []string{"/" + nip19.Note(closed.ID), "/note1x", pathOf(address(3, "tool")) + "/issues"} {
		if rec := w.ask("GET", path, browser); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
	if rec := w.ask("GET", pathOf(of)+"/git-upload-pack", browser); rec.Code != http.StatusTeapot {
		t.Errorf("what git asks for: %d", rec.Code)
	}
}

// Every page of a repository leads to its others, by paths that hold wherever it stands, and says where it stands.
func TestPagesLeadToEachOther(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(9, at+10, nip34.KindIssue, "it falls", a, nostr.Tag{"subject", "an issue"})
	w.put(issue)
	one := pathOf(of) + "/issues/" + nip19.Note(issue.ID)
	for rest, here := range map[string]string{"": "", "issues": "/issues", "patches": "/patches", "issues/" + nip19.Note(issue.ID): "nowhere"} {
		page := w.page(of)
		if rest != "" {
			page = w.below(of, rest)
		}
		for _, to := range []string{"", "/issues", "/patches", "/pulls"} {
			mark := ""
			if to == here {
				mark = ` aria-current="page"`
			}
			has(t, page, `<li><a href="`+pathOf(of)+to+`"`+mark+`>`)
		}
		if rest == "" || rest == "issues" {
			has(t, page, `<a href="`+one+`">an issue</a>`)
		}
	}
}

// TestAnIssueOfAnotherRepositoryIsNotShown: nor is what waits, nor what names a stranger's repository of the same name.
func TestAnIssueOfAnotherRepositoryIsNotShown(t *testing.T) {
	w := newWorld(t, "")
	of, _ := tool(w)
	w.put(w.announce(3, "tool"))
	issue := event(7, at+1, nip34.KindIssue, "something else", nostr.Tag{"a", address(3, "tool").String()})
	w.put(issue)
	if rec := w.ask("GET", pathOf(of)+"/issues/"+nip19.Note(issue.ID), browser); rec.Code != http.StatusNotFound {
		t.Errorf("%d", rec.Code)
	}
	lacks(t, w.below(of, "issues"), "something else")
}

func TestPatchSeries(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	content := func(subject, text, file string) string {
		return "From abc Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH " + subject + "\n\n" + text + "\n---\n " + file + " | 2 +-\n\ndiff --git a/" + file + " b/" + file + "\n--- a/" + file + "\n+++ b/" + file + "\n@@ -1 +1 @@\n-old <" + file + ">\n+new <" + file + ">\n-- \n2.39\n"
	}
	root := event(7, at+1, nip34.KindPatch, content("1/2] one", "why one", "x1"), a, nostr.Tag{"t", "root"})
	e := nostr.Tag{"e", root.ID.String(), "", "root"}
	two := event(7, at+2, nip34.KindPatch, content("2/2] two", "why two", "x2"), a, e)
	again := event(7, at+5, nip34.KindPatch, content("v2 1/2] one again", "better", "y1"), a, e, nostr.Tag{"t", "root-revision"})
	againTwo := event(7, at+4, nip34.KindPatch, content("v2 2/2] two again", "better", "y2"), a, e)
	w.put(root, two, again, againTwo)
	page := w.below(of, "patches/"+nip19.Note(root.ID))
	order(t, page, "<h1>one</h1>", "Revision 2", "one again", "y1", "two again", "y2", "<details><summary>Revision 1", "<h2>one</h2>", "why one", `<span class="d">-old &lt;x1&gt;</span>`, `<span class="a">&#43;new &lt;x1&gt;</span>`, "<h2>two</h2>")
	lacks(t, page, "From: A", "x1 | 2")
	alone := w.below(of, "patches/"+nip19.Note(two.ID))
	has(t, alone, `A part of <a href="/`+nip19.Note(root.ID), "why two")
	list := w.below(of, "patches")
	has(t, list, ">one</a>")
	lacks(t, list, "two")
}

func TestPullRequest(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	pr := event(7, at+1, nip34.KindPullRequest, "# Title\ntext", a, nostr.Tag{"subject", "pull"}, nostr.Tag{"c", strings.Repeat("a", 40)}, nostr.Tag{"clone", "https://x.example/a.git"}, nostr.Tag{"branch-name", "topic"})
	update := func(by byte, c string) *nostr.Event {
		return event(by, at+2, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", strings.Repeat(c, 40)})
	}
	w.put(pr, update(7, "b"), update(9, "d"), event(2, at+3, nip34.KindStatusApplied, "", nostr.Tag{"e", pr.ID.String(), "", "root"}))
	page := w.below(of, "pulls/"+nip19.Note(pr.ID))
	order(t, page, "<h1>pull</h1>", `<span class="state merged">`, "<h2>Title</h2>", "git fetch https://x.example/a.git "+strings.Repeat("a", 40), "updated this to "+strings.Repeat("b", 12), "set this to merged")
	lacks(t, page, strings.Repeat("d", 12))
	has(t, page, "of the branch <code>topic</code>")
}

var next = regexp.MustCompile(`rel="next" href="([^"]*)"`)

// TestManyIssues: every one stands on one page of the list, those of one second too, and each page costs bounded work.
func TestManyIssues(t *testing.T) {
	w := newWorld(t, "", func(c *repopage.Config) { c.Work = 4000 })
	of, a := tool(w)
	var all []*nostr.Event
	for i := range 200 {
		all = append(all, event(7, at+int64(i/50), nip34.KindIssue, "x", a, nostr.Tag{"subject", fmt.Sprintf("issue %d.", i)}))
	}
	w.put(all...)
	w.put(event(7, at+900, nip34.KindStatusClosed, "", nostr.Tag{"e", all[3].ID.String(), "", "root"}))
	for query, want := range map[string]int{"": 200, "?status=open": 199, "?status=closed": 1} {
		seen, pages := map[string]int{}, 0
		for q := query; ; pages++ {
			page := w.below(of, "issues"+q)
			for _, s := range regexp.MustCompile(`issue \d+\.`).FindAllString(page, -1) {
				seen[s]++
			}
			m := next.FindStringSubmatch(page)
			if m == nil || pages > 50 {
				break
			}
			q = strings.ReplaceAll(m[1], "&amp;", "&")
		}
		if len(seen) != want || pages < 1 || pages > 20 {
			t.Errorf("%s: %d issues on %d pages", query, len(seen), pages)
		}
		for s, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s stands %d times", query, s, n)
			}
		}
	}
}

// TestManyComments: they stand on pages, the first first, and what is long is cut.
func TestManyComments(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(7, at+1, nip34.KindIssue, "x", a)
	w.put(issue)
	var all []*nostr.Event
	for i := range 120 {
		all = append(all, event(8, at+int64(10+i), nostr.KindComment, fmt.Sprintf("comment %d.\n\n", i)+strings.Repeat("long ", 20_000), nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"K", "1621"}))
	}
	w.put(all...)
	path := "issues/" + nip19.Note(issue.ID)
	page := w.below(of, path)
	order(t, page, "comment 0.", "comment 1.", "comment 9.", "page 1 of 3")
	lacks(t, page, "comment 50.")
	if len(page) > 400_000 {
		t.Errorf("%d bytes", len(page))
	}
	has(t, w.below(of, path+"?page=3"), `id="`+nip19.Note(all[119].ID)+`"`, "page 3 of 3", `rel="prev"`)
}

func TestFeeds(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(7, at+1, nip34.KindIssue, "text \x01 <b>", a, nostr.Tag{"subject", "an <b>issue"})
	w.put(issue, event(7, at+9, nip34.KindPullRequest, "text", a, nostr.Tag{"c", "a"}))
	read := func(name string) (f web.Feed) {
		rec := w.ask("GET", pathOf(of)+"/"+name, "application/atom+xml, */*;q=0.1")
		if rec.Code != 200 || !strings.HasPrefix(rec.Header().Get("Content-Type"), "application/atom+xml") || rec.Header().Get("ETag") == "" {
			t.Fatalf("%s: %d %v", name, rec.Code, rec.Header())
		}
		if err := xml.Unmarshal(rec.Body.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := read("feed.atom"); len(f.Entries) != 2 || f.Updated != web.Stamp(at+9) || f.Title != "Tool" {
		t.Errorf("%+v", f)
	}
	f := read("issues.atom")
	if len(f.Entries) != 1 || f.Updated != web.Stamp(at+1) || f.ID == read("feed.atom").ID {
		t.Fatalf("%+v", f)
	}
	if e := f.Entries[0]; e.Title != "an <b>issue" || e.ID != "nostr:"+nip19.Note(issue.ID) || !strings.HasSuffix(e.Links[0].Href, "/issues/"+nip19.Note(issue.ID)) || e.Author == "" {
		t.Errorf("%+v", e)
	}
	for i := range 50 {
		w.put(event(7, at+20+int64(i), nip34.KindIssue, "x", a))
	}
	if f := read("issues.atom"); len(f.Entries) != 30 || f.Entries[0].Updated != web.Stamp(at+69) {
		t.Errorf("%d entries", len(f.Entries))
	}
}
