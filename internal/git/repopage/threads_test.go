package repopage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// row is a line of the table.
func row(subject, kind string) string {
	return ">" + subject + `</a> <span class="dim">` + kind + " by npub1"
}

func TestThreads(t *testing.T) {
	w := newWorld(t, "")
	of, theirs := address(1, "tool"), address(2, "tool")
	w.put(w.announce(1, "tool", nostr.Tag{"maintainers", key(2).String()}), w.announce(2, "tool", nostr.Tag{"maintainers", key(1).String()}), w.announce(3, "tool"))
	w.serve(of, 1, "")
	a, second, other := nostr.Tag{"a", of.String()}, nostr.Tag{"a", theirs.String()}, nostr.Tag{"a", address(3, "tool").String()}
	issue := event(7, at+1, nip34.KindIssue, "text", a, nostr.Tag{"subject", "an <b>issue"})
	patch := event(7, at+2, nip34.KindPatch, "From abc\nSubject: [PATCH v2 1/2] fix it\n\nbody", a, nostr.Tag{"t", "root"})
	later := event(7, at+3, nip34.KindPatch, "Subject: [PATCH v2 2/2] more of it", a, nostr.Tag{"e", patch.ID.String(), "", "reply"})
	pr := event(8, at+4, nip34.KindPullRequest, "first line\nsecond", second, nostr.Tag{"c", strings.Repeat("a", 40)})
	draft := event(8, at+5, nip34.KindPullRequest, "", a, nostr.Tag{"subject", " "}, nostr.Tag{"c", strings.Repeat("b", 40)})
	foreign := event(8, at+6, nip34.KindIssue, "of another repository", other)
	w.put(issue, patch, later, pr, draft, foreign)
	about := func(author byte, when int64, kind nostr.Kind, root *nostr.Event, more ...string) *nostr.Event {
		return event(author, when, kind, "", append(nostr.Tag{"e", root.ID.String()}, more...), nostr.Tag{"p", root.PubKey.String()})
	}
	w.put(
		about(9, at+90, nip34.KindStatusClosed, issue, "", "root"),  // a stranger's word
		about(8, at+91, nip34.KindStatusClosed, issue, "", "root"),  // the author of another thread
		about(1, at+20, nip34.KindStatusClosed, issue, "", "root"),  // older than the next
		about(2, at+21, nip34.KindStatusApplied, issue, "", "root"), // a maintainer
		about(1, at+22, nip34.KindStatusApplied, patch, "wss://x", "root"),
		about(1, at+30, nip34.KindStatusClosed, patch, "", "mention"),
		about(8, at+23, nip34.KindStatusDraft, draft),
	)
	page := w.page(of)
	for _, want := range [][3]string{
		{"an &lt;b&gt;issue", "issue", "resolved"}, {"fix it", "patch", "merged"}, {"first line…", "pull request", "open"}, {"(without a subject)", "pull request", "draft"},
	} {
		i := strings.Index(page, row(want[0], want[1]))
		if i < 0 {
			t.Errorf("the page lacks the %s %s", want[1], want[0])
			continue
		}
		line, _, _ := strings.Cut(page[i:], "\n")
		if !strings.HasSuffix(line, `, 2023-11-14</span></td><td><span class="state `+want[2]+`">`+want[2]+"</span></td></tr>") {
			t.Errorf("not %s: %s", want[2], line)
		}
	}
	lacks(t, page, "more of it", "of another repository")
	if strings.Index(page, "first line") > strings.Index(page, "fix it") {
		t.Error("the newest is not the first")
	}
}

func TestManyThreads(t *testing.T) {
	w := newWorld(t, "")
	of := address(1, "tool")
	w.put(w.announce(1, "tool"))
	w.serve(of, 1, "")
	var all []*nostr.Event
	for i := range 300 {
		all = append(all, event(7, at+int64(i), nip34.KindIssue, strings.Repeat("x", 2000), nostr.Tag{"a", of.String()}, nostr.Tag{"subject", fmt.Sprintf("issue %d.", i)}))
	}
	w.put(all...)
	page := w.page(of)
	has(t, page, "issue 299.", "issue 290.")
	lacks(t, page, "issue 289.", strings.Repeat("x", 200))
}

// TestThreadsThatAreCostly: what nobody wants to wait for is left out, and said.
func TestThreadsThatAreCostly(t *testing.T) {
	w := newWorld(t, "", func(c *repopage.Config) { c.Work = 100 })
	of := address(1, "tool")
	w.put(w.announce(1, "tool"))
	w.serve(of, 1, "refs/heads/main", "refs/heads/main", "a")
	var all []*nostr.Event
	for i := range 100 {
		all = append(all, event(7, at+int64(i), nip34.KindIssue, "an issue", nostr.Tag{"a", of.String()}))
	}
	w.put(all...)
	page := w.page(of)
	has(t, page, "<td>main</td>", "look at them in a web client")
	lacks(t, page, "None yet", "an issue")
}
