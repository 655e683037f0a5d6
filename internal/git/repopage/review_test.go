package repopage_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/web"
)

// reviewed is a world with one repository on a disk.
type reviewed struct {
	*world
	of    nip34.Address
	a     nostr.Tag
	repo  *repotest.Repository
	asked int
	later time.Duration // than it is
}

func newReviewed(t *testing.T, imported string) *reviewed {
	t.Helper()
	w := &reviewed{repo: repotest.New(t, imported)}
	w.world = newWorld(t, "", func(c *repopage.Config) {
		c.Code, c.Now = gitread.New(w.repo.Disk, time.Now), func() time.Time { return time.Now().Add(w.later) }
	})
	w.of, w.a = tool(w.world)
	return w
}

// tip is the commit of a branch.
func (w *reviewed) tip(name string) gitwire.ObjectID { return w.repo.ID(name) }

// serves has git be shown main, and other branches by the refs with these names.
func (w *reviewed) serves(pairs ...string) {
	refs := &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "HEAD", ID: w.tip("main")}, {Name: "refs/heads/main", ID: w.tip("main")}}}
	for i := 0; i < len(pairs); i += 2 {
		refs.List = append(refs.List, gitwire.Ref{Name: pairs[i], ID: w.tip(pairs[i+1])})
	}
	refs.Sort()
	w.served[w.of] = repopage.Repository{Dir: w.repo.At.String(), Generation: 1, Refs: refs}
}

// change writes a commit for fast-import: on a branch, from another one unless it goes on, with some contents of files.
func change(branch, from, subject string, files ...string) string {
	for i := 0; i < len(files); i += 2 {
		files[i] = "100644 " + files[i]
	}
	return repotest.Commit(branch, subject, 1_700_000_000, from, files...)
}

// pull is a pull request for a branch, and update one that its author updates it with.
func (w *reviewed) pull(branch string, more ...nostr.Tag) *nostr.Event {
	return event(7, at+1, nip34.KindPullRequest, "please", append([]nostr.Tag{w.a, {"subject", "pull " + branch}, {"c", w.tip(branch).String()}}, more...)...)
}

func (w *reviewed) update(pr *nostr.Event, when int64, branch string) *nostr.Event {
	return event(7, when, nip34.KindPullRequestUpdate, "", w.a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", w.tip(branch).String()})
}

// look is a page below that of the repository, for somebody who has not asked for anything yet.
func (w *reviewed) look(rest string) string {
	w.Helper()
	w.somebodyElse()
	return w.below(w.of, rest)
}

// somebodyElse asks from here on: what git takes is charged by the clock.
func (w *reviewed) somebodyElse() {
	w.asked++
	w.peer = fmt.Sprintf("198.51.100.%d:1", w.asked)
}

func ref(e *nostr.Event) string { return "refs/nostr/" + e.ID.String() }

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"

// TestReview: the page of a pull request shows the commits of its newest version that are not in the default branch, and how they change files.
func TestReview(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "<i>.txt", lines, "other", "x\n")+
		change("first", "main", "a first <script>try</script>", "<i>.txt", strings.Replace(lines, "eight", "<script>8</script>", 1))+
		change("second", "main", "half of it", "<i>.txt", strings.Replace(lines, "eight", "8", 1))+change("second", "", "the rest", "new", "a\nb\n")+
		change("clash", "main", "against it", "other", "y\n")+change("main", "", "meanwhile", "other", "z\n"))
	pr, clash := w.pull("first"), w.pull("clash")
	newer := w.update(pr, at+5, "second")
	w.put(pr, newer, clash)
	w.serves(ref(pr), "first", ref(newer), "second", ref(clash), "clash")
	path := "pulls/" + nip19.Note(pr.ID)
	page := w.look(path)
	order(t, page, "<h2>Commits</h2>", "<code>"+w.tip("second").String(), pathOf(w.of)+"/commit/"+w.tip("second").String()+`"><bdi>the rest</bdi></a>`, "half of it</bdi></a>", "by <bdi>A</bdi>, 2023-11-14", `<span class="state open">merges cleanly</span> into <code>main</code>`,
		"git fetch "+w.rules.Service.CloneURL(w.of.PubKey, w.of.D)+" "+ref(newer)+"\ngit merge", `<a href="?version=2" aria-current="true">version 2</a>`, `<a href="?version=2&amp;since=1">changes since version 1</a>`, "?version=1",
		"<h2>Changes</h2>", `2 files changed, <span class="plus">+3</span> <span class="minus">−1</span>`, `<bdi>&lt;i&gt;.txt</bdi>`, `<span class="d"><i>8</i><i></i>-eight`, `<span class="a"><i></i><i>8</i>+8`, "<bdi>new</bdi>", "added", `<span class="a"><i></i><i>2</i>+b`)
	lacks(t, page, "meanwhile", ">begin<", "a first", "<script", "<i>.txt", "not the newest")

	old := w.look(path + "?version=1")
	order(t, old, "Commits of version 1", "not the newest version", "a first &lt;script&gt;", ref(pr)+"\n", "<h2>Changes</h2>", "+&lt;script&gt;8")
	lacks(t, old, "the rest", "<script", "ngit pr merge")
	between := w.look(path + "?version=2&since=1")
	order(t, between, "From version 1 to version 2", `</i>-&lt;script&gt;8&lt;/script&gt;`, `<span class="a"><i></i><i>8</i>+8`)
	lacks(t, between, "-eight")
	for _, q := range []string{"?version=3", "?version=0", "?version=x", "?since=9", "?version=01"} {
		w.somebodyElse()
		if rec := w.ask("GET", pathOf(w.of)+"/"+path+q, browser); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", q, rec.Code)
		}
	}
	has(t, w.look("pulls/"+nip19.Note(clash.ID)), `<span class="state closed">conflicts</span> with <code>main</code> in <code>other</code>`)
	w.serves(ref(pr), "first") // nobody has pushed what the author asks for
	page = w.look(path)
	has(t, page, "Nobody has pushed this commit here", w.tip("second").String())
	lacks(t, page, "the rest", "<h2>Changes</h2>", "merges cleanly", "changes since")
	w.somebodyElse()
	if rec := w.ask("GET", pathOf(w.of)+"/"+path+"?version=1&since=2", browser); rec.Code != http.StatusNotFound {
		t.Errorf("a difference with what is not served: %d", rec.Code)
	}
}

// TestADifferenceAfterARebase: what others did on the branch between two versions is not shown as the author's, and the page says so.
func TestADifferenceAfterARebase(t *testing.T) {
	base, begun := lines+"\n", change("main", "", "begin", "f", lines+"\n", "other", "x\n", "same", lines+"\n", "bin", "\x00a\n")
	edit := func(s, to string) string { return strings.Replace(s, "eight", to, 1) }
	moved := "zero\n" + base
	w := newReviewed(t, begun+change("first", "main", "v1", "f", edit(base, "8"), "same", edit(base, "8"), "bin", "\x00b\n", "dropped", "d\n")+
		"reset refs/heads/base\nfrom refs/heads/main\n\n"+change("late", "first", "more", "new", "a\n")+
		change("main", "", "meanwhile", "f", moved, "other", "y\n", "same", moved)+
		change("second", "main", "v2", "f", edit(moved, "acht"), "same", edit(moved, "8"), "bin", "\x00b\n"))
	pr := w.pull("first")
	late, second := w.update(pr, at+5, "late"), w.update(pr, at+6, "second")
	second.Tags = append(second.Tags, nostr.Tag{"merge-base", w.tip("main").String()})
	second.ID = second.ComputeID()
	w.put(pr, late, second)
	w.serves(ref(pr), "first", ref(late), "late", ref(second), "second")
	path := "pulls/" + nip19.Note(pr.ID)
	compare := func(page string) string {
		_, after, _ := strings.Cut(page, "From version ")
		return after
	}
	page := compare(w.look(path + "?version=3&since=1"))
	order(t, page, `Version 1 begins at <a href="`+pathOf(w.of)+"/commit/"+w.tip("base").String()+`"><code>`+w.tip("base").String()[:10], "version 3 at <a", w.tip("main").String()[:10],
		"it alone is in 2 that are left out", "2 files changed", "dropped", "</i>-8", "</i>+acht")
	lacks(t, page, "<bdi>other</bdi>", "<bdi>same</bdi>", "<bdi>bin</bdi>")
	page = compare(w.look(path + "?version=2&since=1")) // both begin at one commit
	has(t, page, "1 file changed", "<bdi>new</bdi>")
	lacks(t, page, "begins at")
	page = compare(w.look(path + "?version=1&since=3")) // back again
	has(t, page, "2 files changed", "</i>-acht", "</i>+8")
	for i, r := range w.served[w.of].Refs.List {
		if r.Name == "HEAD" || r.Name == "refs/heads/main" {
			w.served[w.of].Refs.List[i].ID = w.tip("second") // it is merged
		}
	}
	for _, q := range []string{"?version=1&since=3", "?version=3&since=1"} {
		has(t, compare(w.look(path+q)), "begins at", "2 files changed")
	}
}

// TestWhatIsMergedHasItsCommits: where its author said that it began, if that is a part of its history.
func TestWhatIsMergedHasItsCommits(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "f", "a\n")+change("topic", "main", "the work", "f", "b\n")+change("hidden", "", "a secret", "f", "secret\n")+
		"reset refs/heads/base\nfrom refs/heads/main\n\n"+change("main", "+topic", "Merge it", "f", "b\n"))
	said := func(base string) string {
		pr := w.pull("topic", nostr.Tag{"merge-base", base}, nostr.Tag{"n", base})
		w.put(pr)
		w.serves(ref(pr), "topic")
		return w.look("pulls/" + nip19.Note(pr.ID))
	}
	page := said(w.tip("base").String())
	order(t, page, "the work</bdi></a>", "All of it is in <code>main</code>", `</i>-a`)
	lacks(t, page, ">begin<", "merges cleanly")
	for _, base := range []string{w.tip("hidden").String(), strings.Repeat("9", 40), strings.Repeat("0", 40), "x", ""} {
		page = said(base)
		has(t, page, "All of it is in <code>main</code>")
		lacks(t, page, "secret", "the work</bdi></a>", "Nobody has pushed", "leaves out")
	}
}

// TestABranchThatIsAskedFor: a pull request may be for another branch than HEAD.
func TestABranchThatIsAskedFor(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "f", "a\n")+change("stable", "main", "on stable", "g", "b\n")+change("topic", "stable", "the work", "f", "b\n"))
	pr, other := w.pull("topic", nostr.Tag{"b", "stable"}), w.pull("topic", nostr.Tag{"b", "gone"})
	w.put(pr, other)
	w.serves("refs/heads/stable", "stable", "refs/heads/topic", "topic") // the commit came with a branch
	page := w.look("pulls/" + nip19.Note(pr.ID))
	has(t, page, "into <code>stable</code>", "the work</bdi></a>", w.tip("topic").String()+"\ngit merge")
	lacks(t, page, "on stable</bdi></a>", "Nobody has pushed")
	has(t, w.look("pulls/"+nip19.Note(other.ID)), "into <code>main</code>", "on stable</bdi></a>")
}

// TestChecks: what programs say of the newest version stands with who signed it, the newest word of each.
func TestChecks(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	full := strings.Repeat("b", 40)
	pr := event(7, at+1, nip34.KindPullRequest, "", a, nostr.Tag{"c", full})
	result := func(by byte, when int64, commit, workflow, conclusion string) *nostr.Event {
		return event(by, when, 9842, "", a, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", commit}, nostr.Tag{"w", workflow, "hash"}, nostr.Tag{"conclusion", conclusion})
	}
	w.put(pr, result(5, at+2, full, "test <b>.yml", "failure"), result(5, at+3, full, "test <b>.yml", "success"), result(6, at+3, full, "test <b>.yml", "cancelled"),
		result(5, at+4, strings.Repeat("a", 40), "of another commit", "success"), result(5, at+4, full, "exploded", `success"><script>`))
	page := w.below(of, "pulls/"+nip19.Note(pr.ID))
	has(t, page, `<span class="state open">success</span> test &lt;b&gt;.yml`, `<span class="state draft">cancelled</span>`, nip19.Npub(key(5)))
	lacks(t, page, "failure", "of another commit", "exploded", "<script")
}

// TestFeedsOfGit: commits of HEAD and tags, the newest first, and pull requests without issues.
func TestFeedsOfGit(t *testing.T) {
	w := newReviewed(t, repotest.Commit("main", "First <b>\n\nBody", 1_600_000_000, "", "100644 f", "a")+repotest.Commit("old", "An old one", 1_500_000_000, "main", "100644 f", "b")+
		repotest.Commit("main", "Second", 1_700_000_000, "", "100644 f", "c"))
	issue, pr := event(7, at, nip34.KindIssue, "", w.a, nostr.Tag{"subject", "an issue"}), w.pull("old")
	w.put(issue, pr)
	w.serves("refs/tags/v<1>", "old", "refs/tags/a", "main", "refs/tags/z", "main~1")
	for rest, want := range map[string][]string{
		"pulls.atom":    {"Tool: pull requests", "pull old|" + web.Stamp(at+1) + "|pulls/" + nip19.Note(pr.ID)},
		"commits.atom":  {"Tool: commits", "Second|" + web.Stamp(1_700_000_001) + "|commit/" + w.tip("main").String(), "First <b>|" + web.Stamp(1_600_000_001) + "|commit/" + w.tip("main~1").String()},
		"releases.atom": {"Tool: releases", "a|" + web.Stamp(1_700_000_001) + "|tree/a", "z|" + web.Stamp(1_600_000_001) + "|tree/z", "v<1>|" + web.Stamp(1_500_000_001) + "|tree/v%3C1%3E"},
	} {
		w.somebodyElse()
		rec := w.ask("GET", pathOf(w.of)+"/"+rest, "*/*")
		var f web.Feed
		if err := xml.Unmarshal(rec.Body.Bytes(), &f); err != nil || rec.Code != 200 {
			t.Fatalf("%s: %d %v", rest, rec.Code, err)
		}
		url := w.rules.Service.CloneURL(w.of.PubKey, w.of.D)
		got := []string{f.Title}
		for _, e := range f.Entries {
			got = append(got, e.Title+"|"+e.Updated+"|"+strings.TrimPrefix(e.Links[0].Href, url+"/"))
			if rest == "releases.atom" && (len(e.Links) != 2 || e.Links[1].Rel != "enclosure" || e.Links[1].Href != strings.Replace(e.Links[0].Href, "/tree/", "/archive/", 1)+".tar.gz") {
				t.Errorf("%s has no archive: %v", e.Title, e.Links)
			}
		}
		if !slices.Equal(got, want) || f.ID != url+"/"+rest || f.Updated != f.Entries[0].Updated {
			t.Errorf("%s: %q, not %q", rest, got, want)
		}
	}
	w.somebodyElse()
	has(t, w.page(w.of), `href="`+pathOf(w.of)+`/releases.atom">releases</a>`, `title="Tool: pull requests"`)
	delete(w.served, w.of)
	w.served[address(2, "tool")] = repopage.Repository{}
	for _, path := range []string{pathOf(w.of), pathOf(address(2, "tool"))} { // of which one is not here, and one has no data
		w.somebodyElse()
		if rec := w.ask("GET", path+"/commits.atom", "*/*"); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}
