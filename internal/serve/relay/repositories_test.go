package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestRepositoriesOnThePage: those that list this relay, the newest first, as of
// half a minute ago at most; strangers' words stay words.
func TestRepositoriesOnThePage(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		page := func() string {
			t.Helper()
			resp, body := w.get(t, "GET", "/", nil)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", resp.Status, body)
			}
			return body
		}
		if !strings.Contains(page(), "None yet.") {
			t.Error("an empty relay shows repositories")
		}
		now := time.Now().Unix()
		named := func(at int64, d string, more ...nostr.Tag) *nostr.Event {
			return event(1, at, nip34.KindRepository, "", append([]nostr.Tag{{"d", d}, {"relays", "wss://" + domain}}, more...)...)
		}
		w.put(t, named(now-5, "a b/ü", nostr.Tag{"name", "<i>Old</i>"}, nostr.Tag{"description", strings.Repeat("ä", 500) + "\nmore"},
			nostr.Tag{"web", "javascript:alert(1)", "https://git.example.org/x"}), named(now, "new"),
			named(now-6, "turned", nostr.Tag{"name", "a\u202egpj.exe"}, nostr.Tag{"description", "\u2067words\u061c"}, nostr.Tag{"web", "https://x\u202e.example/\u200f"}))
		if !strings.Contains(page(), "None yet.") {
			t.Error("the page is made for each request")
		}
		time.Sleep(31 * time.Second)
		body := page()
		npub := nip19.Npub(key(1))
		for _, want := range []string{
			"&lt;i&gt;Old&lt;/i&gt;", strings.Repeat("ä", 100) + "…</p>", `href="https://git.example.org/x"`,
			"git clone nostr://" + npub + "/relay.example.org/a%20b%2F%C3%BC", `href="https://gitworkshop.dev/` + npub + "/relay.example.org/new\"",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		for _, want := range []string{`a\u202egpj.exe`, `\u2067words\u061c`, `title="https://x\u202e.example/\u200f"`} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.ContainsAny(body, "\u202e\u2067\u061c\u200f") {
			t.Error("strangers' words turn the page")
		}
		if strings.Contains(body, "javascript:") || strings.Contains(body, "more announcements") {
			t.Error("the page holds what it must not")
		}
		if strings.Index(body, "<b>new</b>") > strings.Index(body, "Old") {
			t.Error("the newest is not the first")
		}
		for i := range 210 {
			w.put(t, named(now-100, fmt.Sprint("many", i)))
		}
		time.Sleep(31 * time.Second)
		if body := page(); strings.Count(body, `<div class="row">`) != 50 || !strings.Contains(body, "page 1 of 5") || !strings.Contains(body, `rel="next" href="?page=2"`) {
			t.Errorf("%d repositories are listed", strings.Count(body, `<div class="row">`))
		}
		for path, want := range map[string]int{"/?page=5": 13, "/?q=MANY10": 11, "/?q=many+" + npub[:20] + "&page=5": 10, "/?q=nothing": 0, "/?q=" + strings.Repeat("x", 5000): 0, "/?page=6": -1, "/?page=0": -1, "/?page=x": -1} {
			resp, body := w.get(t, "GET", path, nil)
			if n := strings.Count(body, `<div class="row">`); n != want && resp.StatusCode == 200 || want < 0 && resp.StatusCode != 404 {
				t.Errorf("%.40s: %d with %d repositories", path, resp.StatusCode, n)
			}
		}
		if _, body := w.get(t, "GET", "/?q=%22%3E%3Cscript%3E", nil); strings.Contains(body, "<script") {
			t.Error("what is searched for runs")
		}
		resp, body := w.get(t, "GET", "/feed.atom", nil)
		if strings.Count(body, "<entry>") != 30 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/atom+xml") || !strings.Contains(body, "<title>new</title>") {
			t.Errorf("%v %s", resp.Header, body)
		}
	})
}

// TestWhatIsTakenAwayIsListedNoMore: the page lists the repositories anew once a decision of the operator was carried out, or other rules are
// in force, and for nothing else that changes.
func TestWhatIsTakenAwayIsListedNoMore(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		lists := func(want string) {
			t.Helper()
			_, body := w.get(t, "GET", "/", nil)
			for _, name := range []string{"first", "second", "third"} {
				if got := strings.Contains(body, "<b>"+name+"</b>"); got != strings.Contains(want, name) {
					t.Errorf("%s is listed: %t, want %q", name, got, want)
				}
			}
		}
		row := func(name, value string) {
			t.Helper()
			if err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error { return x.SetRow(name, []byte(value)) }); err != nil {
				t.Fatal(err)
			}
		}
		announce := func(d string) {
			w.put(t, event(1, time.Now().Unix(), nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"relays", "wss://" + domain}))
		}
		announce("first")
		lists("first")
		announce("second")
		row("report/0000000000000001", "x")
		lists("first")
		row("case/0000000000000001", "x")
		lists("first, second")
		announce("third")
		lists("first, second")
		rules := w.door.Rules()
		rules.MinPoW++
		if err := w.door.SetRules(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		lists("first, second, third")
	})
}

// TestRepositoriesWithDataComeFirst: the last pushed to first of all, then the newest announcements without data, 200 together.
func TestRepositoriesWithDataComeFirst(t *testing.T) {
	var moved []refdb.Repository
	c := relay.Config{Moved: func(most int) ([]refdb.Repository, error) { return moved[:min(len(moved), most)], nil }}
	inWorldOf(t, c, func(t *testing.T, w *world) {
		now := time.Now().Unix()
		named := func(at int64, d string) *nostr.Event {
			return event(1, at, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"relays", "wss://" + domain}, nostr.Tag{"maintainers", key(2).String()})
		}
		w.put(t, named(now-9, "old"), named(now-8, "older push"), named(now, "new"),
			event(2, now-1, nip34.KindRepository, "", nostr.Tag{"d", "old"}, nostr.Tag{"name", "elsewhere"}, nostr.Tag{"relays", "wss://other.example"}))
		add := func(author byte, d string, at int64) {
			moved = append(moved, refdb.Repository{Of: nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: d}, Moved: at})
		}
		add(1, "old", 1_700_000_000)
		add(1, "older push", 1_600_000_000)
		add(2, "old", 1_600_000_000)
		add(1, "gone", 1_600_000_000)
		_, body := w.get(t, "GET", "/", nil)
		npub := nip19.Npub(key(1))
		at := 0
		for _, want := range []string{
			`<a href="https://` + domain + "/" + npub + `/old.git"><b>old</b></a> <span class="dim">by <a href="/` + npub + `">` + npub[:12] + "…" + npub[len(npub)-4:] + "</a>, pushed 2023-11-14 22:13</span>",
			`/older%20push.git"><b>older push</b></a>`, "pushed 2020-09-13 12:26", `/new.git"><b>new</b></a>`,
		} {
			i := strings.Index(body[at:], want)
			if i < 0 {
				t.Fatalf("the page lacks %s, or not in this order", want)
			}
			at += i
		}
		if strings.Contains(body, "elsewhere") || strings.Count(body, `<div class="row">`) != 3 || strings.Contains(body, "git clone") || strings.Contains(body, "more announcements") {
			t.Error(body)
		}
		moved = nil
		for i := range 250 {
			w.put(t, named(now-20, fmt.Sprint("many", i)))
			add(1, fmt.Sprint("many", i), now)
		}
		time.Sleep(31 * time.Second)
		if _, body := w.get(t, "GET", "/", nil); strings.Count(body, `<div class="row">`) != 50 || strings.Contains(body, "<b>new</b>") || !strings.Contains(body, "page 1 of 6") {
			t.Errorf("%d repositories are listed", strings.Count(body, `<div class="row">`))
		}
	})
}
