package repopage_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// labelled is an event of kind 1985 about another one, as ngit publishes it.
func labelled(by byte, when int64, root *nostr.Event, namespace string, labels ...string) *nostr.Event {
	tags := []nostr.Tag{{"L", namespace}}
	for _, l := range labels {
		tags = append(tags, nostr.Tag{"l", l, namespace})
	}
	return event(by, when, nostr.KindLabel, "", append(tags, nostr.Tag{"e", root.ID.String(), "wss://hint.example"}, nostr.Tag{"p", root.PubKey.String()})...)
}

// TestWhatPeopleMakeOfAThread: its author and those who decide change its subject, labels, text and status; everybody else's word is nothing.
func TestWhatPeopleMakeOfAThread(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(7, at+1, nip34.KindIssue, "first text", a, nostr.Tag{"subject", "first subject"}, nostr.Tag{"t", "bug"}, nostr.Tag{"t", "root"})
	w.put(issue,
		labelled(7, at+2, issue, "#subject", "second <script>alert(1)</script>", "ignored"),
		labelled(2, at+4, issue, "#subject", "third <script>alert(1)</script>"),
		labelled(1, at+3, issue, "#subject", "in between"),
		labelled(9, at+9, issue, "#subject", "a stranger's"),
		labelled(2, at+9, issue, "#subject", " "),
		labelled(2, at+9, issue, "other", "of another namespace"),
		event(2, at+9, nostr.KindLabel, "", nostr.Tag{"l", "without its namespace", "#subject"}, nostr.Tag{"e", issue.ID.String()}),
		event(2, at+9, nostr.KindLabel, "", nostr.Tag{"L", "#subject"}, nostr.Tag{"l", "of a mention", "#subject"}, nostr.Tag{"e", issue.ID.String(), "", "mention"}),
		labelled(2, at+5, issue, "#t", "<b>help", "bug"), labelled(7, at+6, issue, "#t", "good first"), labelled(9, at+6, issue, "#t", "spam"),
		event(1, at+7, nip34.KindCoverNote, "second text <script>x</script>", nostr.Tag{"e", issue.ID.String()}),
		event(9, at+8, nip34.KindCoverNote, "not theirs", nostr.Tag{"e", issue.ID.String()}),
		event(1, at+6, nip34.KindCoverNote, "text in between", nostr.Tag{"e", issue.ID.String()}))
	third := "third &lt;script&gt;alert(1)&lt;/script&gt;"
	page := w.below(of, "issues/"+nip19.Note(issue.ID))
	order(t, page, "<title>"+third, "<h1>"+third, " · bug · &lt;b&gt;help · good first</p>", "second text ", "Text by", "in place of the first one", "As it was written first", "Subject: first subject", "first text",
		"changed the subject to “second &lt;script", "changed the subject to “in between”", "changed the subject to “third", "added the labels &lt;b&gt;help, bug", "edited the text")
	lacks(t, page, "<script", "a stranger", "spam", "not theirs", "text in between", "another namespace", "without its namespace", "of a mention", "ignored")
	for _, list := range []string{w.below(of, "issues"), w.page(of)} {
		has(t, list, ">"+third+"</a>", `<span class="label">&lt;b&gt;help</span>`)
		lacks(t, list, "first subject</a>", "spam", "<script")
	}
	if feed := w.ask("GET", pathOf(of)+"/issues.atom", "*/*").Body.String(); !strings.Contains(feed, "third &lt;script") {
		t.Error("the feed has another subject")
	}
}

// TestNobodyPushesAMaintainersWordOut: however much the author says.
func TestNobodyPushesAMaintainersWordOut(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	issue := event(7, at+1, nip34.KindIssue, "", a, nostr.Tag{"subject", "first"})
	all := []*nostr.Event{issue, labelled(2, at+2, issue, "#t", "spam"), event(1, at+2, nip34.KindStatusClosed, "", nostr.Tag{"e", issue.ID.String(), "", "root"})}
	for i := range 200 {
		all = append(all, labelled(7, at+10+int64(i), issue, "#t", fmt.Sprintf("label %d", i)))
	}
	w.put(all...)
	has(t, w.below(of, "issues"), `<span class="label">spam</span>`, `<span class="state closed">`)
}

// TestChangesOfOneSecond: the event with the lowest id counts, in whatever order they are read.
func TestChangesOfOneSecond(t *testing.T) {
	root := event(7, at, nip34.KindIssue, "", nostr.Tag{"subject", "first"})
	var all []*nostr.Event
	for i := range 9 {
		all = append(all, labelled(7, at+1, root, "#subject", fmt.Sprint("subject ", i)))
	}
	want := slices.MinFunc(all, func(a, b *nostr.Event) int { return a.ID.Compare(b.ID) }).Tags[1].Value()
	for range len(all) {
		if _, subject, _ := repopage.Stand(root, all); subject != want {
			t.Fatalf("%q, not %q", subject, want)
		}
		all = append(slices.Clone(all[1:]), all[0])
	}
}

// TestListsAmongMuchElse: however much somebody puts between the threads of a list, and before what was made of one, a page takes bounded work: it
// ends before, and leads on.
func TestListsAmongMuchElse(t *testing.T) {
	const work, much = 1000, 3000
	var c repopage.Config
	w := newWorld(t, "", func(with *repopage.Config) { with.Work = work; c = *with })
	of, a := tool(w)
	last := event(9, at+20_000, nip34.KindIssue, "", a, nostr.Tag{"subject", "the last"})
	first := event(8, at+19_000, nip34.KindIssue, "", a, nostr.Tag{"subject", "the first"})
	old := event(8, at, nip34.KindIssue, "", a, nostr.Tag{"subject", "the old one"})
	w.put(last, first, old)
	var all []*nostr.Event
	for i := range int64(much) {
		all = append(all,
			event(10, at+10_000+i, nostr.KindComment, "", a),                                                                             // between threads
			event(11, at+10_000+i, nip34.KindIssue, "", nostr.Tag{"a", address(3, "other").String()}),                                    // so that no other way is shorter
			event(12, at+10_000+i, nostr.KindNote, fmt.Sprint(i), nostr.Tag{"e", last.ID.String()}),                                      // before what was made of the last
			event(9, at+10_000+i, nip34.KindStatusOpen, fmt.Sprint(i), nostr.Tag{"e", old.ID.String()}, nostr.Tag{"p", key(8).String()}), // the same by its author
		)
	}
	w.put(all...)
	after := func(e *nostr.Event) string { return fmt.Sprintf("after=%d-%s", e.CreatedAt, e.ID) }
	page := w.below(of, "issues")
	has(t, page, "the last", `<span class="state unknown">unknown</span>`, `<a rel="next" href="?`+after(last)+`">look further</a>`)
	lacks(t, page, "the first", "the old one")
	page = w.below(of, "issues?"+after(last))
	has(t, page, "the first", `<span class="state open">open</span>`, `<a rel="next" href="?`+after(first)+`">look further</a>`)
	lacks(t, page, "the last", "the old one", "unknown")
	if rec := w.ask("GET", pathOf(of)+"/issues?"+after(first), browser); rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "This page takes too much work") {
		t.Errorf("%d: %s", rec.Code, rec.Body)
	}
	for _, q := range []string{"", after(last), after(first)} {
		values, err := url.ParseQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		if steps, err := repopage.New(c).StepsOfList(t.Context(), of, values); steps < work || steps > 2*work+600 {
			t.Errorf("%s: %d steps, %v", q, steps, err)
		}
	}
}

// TestAThreadThatIsSomeWork: what became of a thread is read to its end, though the work for the page is used up meanwhile.
func TestAThreadThatIsSomeWork(t *testing.T) {
	const work, some = 1000, 280
	var c repopage.Config
	w := newWorld(t, "", func(with *repopage.Config) { with.Work = work; c = *with })
	of, a := tool(w)
	issue, old := event(9, at+1000, nip34.KindIssue, "", a, nostr.Tag{"subject", "the issue"}), event(9, at, nip34.KindIssue, "", a)
	all := []*nostr.Event{issue, old, event(1, at+2000, nip34.KindStatusClosed, "", nostr.Tag{"e", issue.ID.String()})}
	for i := range int64(some) {
		all = append(all, event(12, at+i, nostr.KindNote, fmt.Sprint(i), nostr.Tag{"e", issue.ID.String()}), event(9, at+i, nip34.KindStatusOpen, fmt.Sprint(i), nostr.Tag{"e", old.ID.String()}))
	}
	w.put(all...)
	has(t, w.below(of, "issues"), "the issue", `<span class="state closed">closed</span>`)
	if steps, err := repopage.New(c).StepsOfList(t.Context(), of, url.Values{}); steps < work || steps > 2*work || err != nil {
		t.Errorf("%d steps, %v", steps, err)
	}
}

// TestFilters: of a list people choose a status and a label, and search, and each choice says how many there are.
func TestFilters(t *testing.T) {
	w := newWorld(t, "")
	of, a := tool(w)
	for i := range 70 {
		issue := event(7, at+int64(i), nip34.KindIssue, fmt.Sprintf("text with word%d", i%7), a, nostr.Tag{"subject", fmt.Sprintf("issue %d.", i)}, nostr.Tag{"t", []string{"bug", "<i>idea"}[i%2]})
		w.put(issue)
		if i < 10 {
			w.put(event(1, at+100, nip34.KindStatusClosed, "", nostr.Tag{"e", issue.ID.String(), "", "root"}))
		}
		if i == 4 {
			w.put(labelled(2, at+100, issue, "#t", "rare"))
		}
	}
	count := func(name string, n int) string { return fmt.Sprintf(">%s</a> <span class=\"dim\">%d</span>", name, n) }
	page := w.below(of, "issues")
	has(t, page, count("all", 70), count("open", 60), count("closed", 10), count("draft", 0), count("bug", 35), count("&lt;i&gt;idea", 35), count("rare", 1), "issue 69.", "issue 40.", `href="?page=2"`)
	lacks(t, page, "issue 39.", "<i>", `rel="prev"`)
	has(t, w.below(of, "issues?page=3"), "issue 9.", "issue 0.", `rel="prev" href="?page=2"`)
	page = w.below(of, "issues?status=closed&label=bug")
	has(t, page, count("all", 35), count("open", 30), count("closed", 5), count("bug", 5), count("rare", 1), "issue 8.", "issue 0.", `href="?status=closed" aria-current="true">bug`, `href="?label=bug&amp;status=open"`, `name="status" value="closed"`)
	lacks(t, page, "issue 9.", "issue 10.")
	page = w.below(of, "issues?q=WORD3+npub1+bug")
	has(t, page, count("all", 5), "issue 66.", "issue 10.", `value="WORD3 npub1 bug"`, `href="?label=bug&amp;q=WORD3&#43;npub1&#43;bug"`)
	lacks(t, page, "issue 3.", "issue 65.")
	has(t, w.below(of, "issues?label=nobody%22%3E%3Cscript%3E"), "None that you chose", "nobody&#34;&gt;&lt;script&gt;")
	for _, q := range []string{"?page=4", "?page=0", "?page=x", "?page=99999999999999999999"} {
		if rec := w.ask("GET", pathOf(of)+"/issues"+q, browser); rec.Code != 404 {
			t.Errorf("%s: %d", q, rec.Code)
		}
	}
}
