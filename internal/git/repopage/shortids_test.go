package repopage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The beginning of an id in a text leads to the one commit that has it.
func TestShortIDs(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "f", "a\n")+change("main", "", "next", "f", "b\n")+change("hidden", "", "a secret", "f", "c\n"))
	main, first, hidden := w.tip("main").String(), w.tip("main~1").String(), w.tip("hidden").String()
	issue := event(7, at+1, nip34.KindIssue, "since "+main[:7]+", not "+hidden[:8]+" nor 1234567", w.a, nostr.Tag{"subject", "broken"})
	said := event(8, at+2, nostr.KindComment, "rather "+first[:12]+" and "+main[:7], nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"K", "1621"})
	w.put(issue, said)
	w.serves()
	path := "issues/" + nip19.Note(issue.ID)
	to := func(id, shown string) string {
		return `<a href="` + pathOf(w.of) + "/commit/" + id + `">` + shown + "</a>"
	}
	for range 2 { // made, and kept
		order(t, w.look(path), "since "+to(main, main[:7])+", not "+hidden[:8]+" nor 1234567", "rather "+to(first, first[:10])+" and "+to(main, main[:7]))
	}
	w.serves("refs/heads/hidden", "hidden")
	has(t, w.look(path), "not "+hidden[:8]+" nor") // as it was kept
	w.later = 61 * time.Second
	has(t, w.look(path), "not "+to(hidden, hidden[:8])+" nor 1234567")
}

// Only so many are looked up for one page, and where there is no git data none.
func TestManyShortIDs(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "f", "a\n"))
	main := w.tip("main").String()
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%07x ", i)
		}
		return b.String() + main[:7]
	}
	for n, linked := range map[int]bool{gitread.MostNamed - 1: true, gitread.MostNamed: false} {
		issue := event(7, at+int64(n), nip34.KindIssue, text(n), w.a, nostr.Tag{"subject", "many"})
		w.put(issue)
		w.serves()
		if page := w.look("issues/" + nip19.Note(issue.ID)); strings.Contains(page, "/commit/"+main) != linked || !strings.Contains(page, "0000001 0000002") {
			t.Errorf("beside %d others: linked %v", n, !linked)
		}
	}
	issue := event(7, at+99, nip34.KindIssue, "see "+main[:7], w.a, nostr.Tag{"subject", "early"})
	w.put(issue)
	w.served[w.of] = repopage.Repository{}
	if page := w.look("issues/" + nip19.Note(issue.ID)); !strings.Contains(page, "see "+main[:7]) {
		t.Error("without git data the text is not shown")
	}
}
