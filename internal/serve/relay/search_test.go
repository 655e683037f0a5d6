package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestSearch: names, descriptions and subjects are searched (NIP-50), the newest first, and what comes later is matched too.
func TestSearch(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		at := time.Now().Unix() - 1000
		repo := event(1, at, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"name", "A Tool"}, nostr.Tag{"description", "grinds Coffee"}, nostr.Tag{"relays", "wss://" + domain})
		a := nostr.Tag{"a", repo.Address()}
		issue := event(1, at+1, nip34.KindIssue, "no coffee in the text counts", a, nostr.Tag{"subject", "Tool is slow"})
		patch := event(1, at+2, nip34.KindPatch, "From x\nSubject: [PATCH] tool: coffee faster\n\nslow", a)
		pr := event(1, at+3, nip34.KindPullRequest, "slow", a, nostr.Tag{"subject", "Kaffee ÄÖ"}, nostr.Tag{"c", strings.Repeat("a", 40)})
		comment := event(1, at+4, nostr.KindComment, "coffee tool", nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"subject", "tool"})
		w.put(t, repo, issue, patch, pr, comment)
		c := w.dial(t)
		defer c.close()
		for i, tc := range []struct {
			filter string
			want   []*nostr.Event
		}{
			{`{"search":"tool"}`, []*nostr.Event{patch, issue, repo}},
			{`{"search":"COFFEE"}`, []*nostr.Event{patch, repo}},
			{`{"search":"coffee tool"}`, []*nostr.Event{patch, repo}},
			{`{"search":"slow"}`, []*nostr.Event{issue}},
			{`{"search":"äö"}`, []*nostr.Event{pr}},
			{`{"search":"tool include:spam language:en"}`, []*nostr.Event{patch, issue, repo}},
			{`{"search":"tool","limit":1}`, []*nostr.Event{patch}},
			{`{"search":"tool","limit":0}`, nil},
			{`{"search":"tool","kinds":[30617,1111,1]}`, []*nostr.Event{repo}},
			{`{"search":"tool","kinds":[1111]}`, nil},
			{`{"search":"tool","until":` + fmt.Sprint(at+1) + `}`, []*nostr.Event{issue, repo}},
			{`{"search":"text"}`, nil},
			{`{"search":"Äö"}`, []*nostr.Event{pr}},
			{`{"search":"\"a tool\""}`, []*nostr.Event{repo}},
			{`{"search":"\"tool a\""}`, nil},
			{`{"search":"“is slow” tool"}`, []*nostr.Event{issue}},
			{`{"search":"\"is slow"}`, []*nostr.Event{issue}},
			{`{"search":"a:b","kinds":[1111]}`, []*nostr.Event{comment}},
			{`{"search":"a:\"b c\" tool","kinds":[30617]}`, []*nostr.Event{repo}},
		} {
			id := fmt.Sprint("s", i)
			c.send(t, `["REQ","`+id+`",`+tc.filter+`]`)
			for _, e := range tc.want {
				if got := c.read(t); !strings.HasPrefix(got, `["EVENT","`+id+`",`) || !strings.Contains(got, e.ID.String()) {
					t.Fatalf("%s: %s, want %s", tc.filter, got, e.ID)
				}
			}
			c.expect(t, `["EOSE","`+id+`"]`)
			c.send(t, `["CLOSE","`+id+`"]`)
		}
		c.send(t, `["REQ","live",{"search":"grinder","limit":0}]`)
		c.expect(t, `["EOSE","live"]`)
		w.put(t, event(1, at+9, nip34.KindIssue, "grinder", a, nostr.Tag{"subject", "other"}), event(1, at+10, nip34.KindIssue, "", a, nostr.Tag{"subject", "the Grinder"}))
		if got := c.read(t); !strings.HasPrefix(got, `["EVENT","live",`) || !strings.Contains(got, "the Grinder") {
			t.Errorf("%s", got)
		}
		for filter, reason := range map[string]string{
			`{"search":"` + strings.Repeat("x", 300) + `"}`: "invalid: search longer than 256 bytes; shorten it",
		} {
			c.send(t, `["REQ","bad",`+filter+`]`)
			c.expect(t, `["CLOSED","bad","`+reason+`"]`)
		}
		c.send(t, `["COUNT","bad",{"search":"x"}]`)
		c.expect(t, `["CLOSED","bad","unsupported: this relay searches (NIP-50) for a REQ alone; ask without it"]`)
	})
}

// TestACostlySearch: it is ended, and said to be too much, where what it looks through takes too much work.
func TestACostlySearch(t *testing.T) {
	inWorld(t, relay.Limits{ScanWork: 3000}, func(t *testing.T, w *world) {
		repo := event(1, time.Now().Unix()-1000, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"relays", "wss://" + domain})
		w.put(t, repo)
		for i := range 200 {
			w.put(t, event(1, time.Now().Unix()-900+int64(i), nip34.KindIssue, "", nostr.Tag{"a", repo.Address()}, nostr.Tag{"subject", "x"}))
		}
		c := w.dial(t)
		defer c.close()
		c.send(t, `["REQ","s",{"search":"nothing"}]`)
		c.expect(t, `["CLOSED","s","error: finding the stored events takes too much work; ask for less"]`)
	})
}

// TestASearchThroughLongTexts: the work of a search follows the bytes that it looks through, and not the events alone.
func TestASearchThroughLongTexts(t *testing.T) {
	inWorld(t, relay.Limits{ScanWork: 3000}, func(t *testing.T, w *world) {
		repo := event(1, time.Now().Unix()-1000, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"relays", "wss://" + domain})
		w.put(t, repo)
		for i := range 10 {
			w.put(t, event(1, time.Now().Unix()-900+int64(i), nip34.KindIssue, "", nostr.Tag{"a", repo.Address()}, nostr.Tag{"subject", strings.Repeat("x ", 50_000)}))
		}
		c := w.dial(t)
		defer c.close()
		c.send(t, `["REQ","s",{"search":"nothing"}]`)
		c.expect(t, `["CLOSED","s","error: finding the stored events takes too much work; ask for less"]`)
	})
}
