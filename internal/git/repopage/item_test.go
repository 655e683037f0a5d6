package repopage_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	order(t, page, "<h1>one</h1>", "Revision 2", "one again", "y1", "two again", "y2", "<details><summary>Revision 1", "<h2>one</h2>", "why one", `</i>-old &lt;x1&gt;`, `</i>+new &lt;x1&gt;`, "<h2>two</h2>")
	lacks(t, page, "From: A", "x1 | 2")
	alone := w.below(of, "patches/"+nip19.Note(two.ID))
	has(t, alone, `A part of <a href="/`+nip19.Note(root.ID), "why two")
	list := w.below(of, "patches")
	has(t, list, ">one</a>")
	lacks(t, list, "two")
}

// TestPullRequest: a page offers the newest version that the author has asked to have merged, and nobody else's.
func TestPullRequest(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	pr := event(7, at+1, nip34.KindPullRequest, "# Title\ntext", a, nostr.Tag{"subject", "pull"}, nostr.Tag{"c", strings.Repeat("a", 40)}, nostr.Tag{"clone", "https://x.example/$(reboot).git", "https://x.example/a.git"}, nostr.Tag{"branch-name", "topic"})
	update := func(by byte, when int64, c string) *nostr.Event {
		return event(by, when, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", c})
	}
	full := func(digit string) string { return strings.Repeat(digit, 40) }
	newest := update(7, at+5, full("b"))
	w.put(pr, newest, update(7, at+4, full("e")), update(7, at+6, "no commit"), update(9, at+7, full("d")), update(2, at+8, full("f")),
		event(7, at+9, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", full("1") + full("1")[:24]}, nostr.Tag{"c", full("9")}),
		event(2, at+9, nip34.KindStatusApplied, "", nostr.Tag{"e", pr.ID.String(), "", "root"}))
	page := w.below(of, "pulls/"+nip19.Note(pr.ID))
	order(t, page, "<h1>pull</h1>", `<span class="state merged">`, "<h2>Title</h2>", "<code>"+full("b"), "Nobody has pushed this commit here", "git fetch https://x.example/a.git "+full("b")+"\ngit merge --no-ff FETCH_HEAD",
		"ngit pr checkout nevent1", ">version 3</a>", full("b")[:10], ">version 2</a>", full("e")[:10], ">version 1</a>", full("a")[:10],
		"updated this to "+full("e")[:12], "updated this to "+full("b")[:12], "offers "+full("f")[:12]+"… in place of", "set this to merged")
	lacks(t, page, full("d")[:12], full("9")[:10], "git fetch https://x.example/a.git "+full("a"), "reboot")
	has(t, page, "of the branch <code>topic</code>")

	w.serve(of, 2, "", "refs/nostr/"+newest.ID.String(), "b")
	page = w.below(of, "pulls/"+nip19.Note(pr.ID))
	has(t, page, "git fetch "+w.rules.Service.CloneURL(of.PubKey, of.D)+" refs/nostr/"+newest.ID.String())
	lacks(t, page, "https://x.example", "Nobody has pushed")
	w.serve(of, 3, "", "refs/nostr/"+newest.ID.String(), "e") // not the commit that the author names
	has(t, w.below(of, "pulls/"+nip19.Note(pr.ID)), "Nobody has pushed", "git fetch https://x.example/a.git "+full("b"))
}

// TestVersionsOfOneSecond: the event with the lowest id counts.
func TestVersionsOfOneSecond(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	pr := event(7, at+9, nip34.KindPullRequest, "", a, nostr.Tag{"c", strings.Repeat("a", 40)}) // its clock was wrong
	w.put(pr)
	lowest := pr
	for i := range 16 {
		u := event(7, at+5, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", fmt.Sprintf("%040x", 1000+i)})
		if w.put(u); lowest == pr || u.ID.Compare(lowest.ID) < 0 {
			lowest = u
		}
	}
	tip, _ := lowest.Tags.First("c")
	has(t, w.below(of, "pulls/"+nip19.Note(pr.ID)), "<p><code>"+tip)
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

// TestAFeedTellsWhatIsDone: a thread comes first in a feed when its author, who decides, or who comments did something about it, however old it is.
func TestAFeedTellsWhatIsDone(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	pr := event(7, at+1, nip34.KindPullRequest, "text", a, nostr.Tag{"subject", "the old one"}, nostr.Tag{"c", "a"})
	said := event(8, at+2, nip34.KindPullRequest, "text", a, nostr.Tag{"subject", "the other"}, nostr.Tag{"c", "a"})
	issue := event(8, at+2, nip34.KindIssue, "text", a)
	w.put(pr, said, issue)
	for i := range 40 {
		w.put(event(7, at+20+int64(i), nip34.KindPullRequest, "x", a, nostr.Tag{"c", "a"}))
	}
	first := func() string {
		w.Helper()
		var f web.Feed
		if err := xml.Unmarshal(w.ask("GET", pathOf(of)+"/pulls.atom", "*/*").Body.Bytes(), &f); err != nil || len(f.Entries) != 30 || f.Updated != f.Entries[0].Updated {
			t.Fatalf("%v %+v", err, f)
		}
		seen := map[string]bool{}
		for i, e := range f.Entries {
			if seen[e.ID] || i > 0 && e.Updated > f.Entries[i-1].Updated {
				t.Errorf("%s stands twice, or after one that is older", e.Title)
			}
			seen[e.ID] = true
		}
		e := f.Entries[0]
		return e.Title + " " + e.Updated + " " + e.Category[1].Term
	}
	says := func(want string) {
		w.Helper()
		if got := first(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	e := nostr.Tag{"e", pr.ID.String(), "", "root"}
	w.put(event(7, at+100, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", "b"}))
	says("the old one " + web.Stamp(at+100) + " open")
	w.put(event(9, at+110, nip34.KindPullRequestUpdate, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", "b"}), event(9, at+110, nip34.KindStatusApplied, "", a, e)) // a stranger's
	says("the old one " + web.Stamp(at+100) + " open")
	w.put(event(1, at+120, nip34.KindStatusApplied, "", a, e))
	says("the old one " + web.Stamp(at+120) + " merged")
	w.put(event(9, at+130, nostr.KindComment, "I see", nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"K", "1618"}))
	says("the old one " + web.Stamp(at+130) + " merged")
	w.put(event(1, at+140, nip34.KindStatusClosed, "", a, nostr.Tag{"e", issue.ID.String(), "", "root"})) // of what is no pull request
	says("the old one " + web.Stamp(at+130) + " merged")
	w.put(event(1, at+150, nip34.KindStatusDraft, "", a, nostr.Tag{"e", said.ID.String(), "", "root"}))
	says("the other " + web.Stamp(at+150) + " draft")
}

// mailOf is a patch as git format-patch writes it.
func mailOf(subject, text, diff string) string {
	return "From abcabcabcabcabcabcabcabcabcabcabcabcabca Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: [PATCH " + subject + "\n\n" + text + "\n---\n f | 2 +-\n\n" + diff + "-- \n2.39.5\n\n"
}

// TestAPatchIsReadAsGitReadsIt: by the counts of its hunks, so that the signature is no line of it, and a deleted line that looks like one is.
func TestAPatchIsReadAsGitReadsIt(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	diff := "diff --git a/<b>.c b/<b>.c\nindex 1111111..2222222 100644\n--- a/<b>.c\n+++ b/<b>.c\n@@ -1,3 +1,2 @@ int main(<script>)\n same\n-- \n-2.39.5\n+<script>alert(1)</script>\n\\ No newline at end of file\n" +
		"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\ndiff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\ndiff --git a/p.png b/p.png\nindex 1111111..2222222 100644\nBinary files a/p.png and b/p.png differ\n"
	one := event(7, at+1, nip34.KindPatch, mailOf("1/1] one <script>x</script>", "why <script>y</script>", diff), a)
	broken := event(7, at+2, nip34.KindPatch, mailOf("1/1] two", "", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-old <i>\n+new\n"), a)
	w.put(one, broken)
	page := w.below(of, "patches/"+nip19.Note(one.ID))
	order(t, page, "one &lt;script&gt;", "why &lt;script&gt;", "4 files changed, <span class=\"plus\">+1</span> <span class=\"minus\">−2</span>", "<bdi>&lt;b&gt;.c</bdi></b>", `@@ -1,3 +1,2 @@ int main(&lt;script&gt;)`, "</i> same",
		`<span class="d"><i>2</i><i></i>-- `, `<span class="d"><i>3</i><i></i>-2.39.5`, `</i>+&lt;script&gt;alert(1)`, `\ no end of line`, "<bdi>new</bdi></b>", "renamed from <bdi>old</bdi>", "file → executable", "<bdi>p.png</bdi></b>", "binary")
	lacks(t, page, "<script", "-- \n2.39.5")
	page = w.below(of, "patches/"+nip19.Note(broken.ID))
	has(t, page, "</i>-old &lt;i&gt;", "</i>+new", "git would not take it")
	lacks(t, page, "2.39.5", `</i>-- `)
}

// TestASeriesAsMail: git am takes the newest revision of a series, without its cover letter, and one patch alone.
func TestASeriesAsMail(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	diff := func(old, new string) string {
		return "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-" + old + "\n+" + new + "\n"
	}
	cover := event(7, at+1, nip34.KindPatch, mailOf("0/2] a series", "all of it <b>", ""), a, nostr.Tag{"t", "cover-letter"})
	e := nostr.Tag{"e", cover.ID.String(), "", "root"}
	one := event(7, at+2, nip34.KindPatch, mailOf("1/2] one", "", diff("a", "wrong")), a, e)
	two := event(7, at+3, nip34.KindPatch, mailOf("2/2] two", "", diff("wrong", "c")), a, e)
	again := event(7, at+6, nip34.KindPatch, strings.TrimPrefix(mailOf("v2 2/2] two", "", diff("b", "c")), "From abcabcabcabcabcabcabcabcabcabcabcabcabca Mon Sep 17 00:00:00 2001\n"), a, e)
	first := event(7, at+7, nip34.KindPatch, mailOf("v2 1/2] one", "", diff("a", "b")), a, e)
	w.put(cover, one, two)
	if all := w.ask("GET", pathOf(of)+"/patches/"+nip19.Note(cover.ID)+".patch", "*/*").Body.String(); all != one.Content+two.Content {
		t.Errorf("%q", all)
	}
	w.put(again, first)
	root := "patches/" + nip19.Note(cover.ID)
	page := w.below(of, root)
	order(t, page, "<h2>Apply</h2>", `<a href="`+pathOf(of)+"/"+root+`.patch">`, "curl -fsS "+w.rules.Service.CloneURL(of.PubKey, of.D)+"/"+root+".patch | git am -3</pre>", "ngit pr apply nevent1", "Revision 2", `/`+nip19.Note(first.ID)+`.patch">as mail</a>`)
	mail := func(rest, accept string) string {
		rec := w.ask("GET", pathOf(of)+"/"+rest, accept)
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/plain; charset=utf-8" || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", rest, rec.Code, rec.Header())
		}
		return rec.Body.String()
	}
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("", "init", "-q")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("", "add", "f")
	git("", "commit", "-qm", "begin")
	git(mail(root+".patch", "*/*"), "am", "-q")
	if got := git("", "log", "--format=%s", "-3") + git("", "show", "HEAD:f"); got != "two\none\nbegin\nc\n" {
		t.Errorf("%q", got)
	}
	if alone := mail("patches/"+nip19.Note(one.ID)+".patch", "image/png"); alone != one.Content {
		t.Errorf("%q", alone)
	}
	issue := event(7, at+1, nip34.KindIssue, "x", a)
	w.put(issue)
	for _, rest := range []string{"patches/" + nip19.Note(issue.ID) + ".patch", "patches/note1x.patch", "issues/" + nip19.Note(issue.ID) + ".patch", "patches/" + nip19.Note(nostr.ID{3}) + ".patch"} {
		if rec := w.ask("GET", pathOf(of)+"/"+rest, browser); rec.Code != 404 {
			t.Errorf("%s: %d", rest, rec.Code)
		}
	}
}
