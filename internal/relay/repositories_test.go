package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"graspd/internal/nip19"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/relay"
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
			"&lt;i&gt;Old&lt;/i&gt;", strings.Repeat("ä", 100) + "…</span>", `href="https://git.example.org/x"`,
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
		if body := page(); strings.Count(body, "<details>") != 200 || !strings.Contains(body, "and 13 more announcements") {
			t.Errorf("%d repositories are listed", strings.Count(body, "<details>"))
		}
	})
}
