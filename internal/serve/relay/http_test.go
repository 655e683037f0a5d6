package relay_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/relay"
)

// get makes a request to the relay over the network.
func (w *world) get(t *testing.T, method, path string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+domain+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	tr := w.transport("198.51.100.1:1")
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func checkCORS(t *testing.T, h http.Header) {
	t.Helper()
	if got := h.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin: %q", got)
	}
	for key, want := range map[string]string{
		"Access-Control-Allow-Methods":  "GET POST OPTIONS",
		"Access-Control-Expose-Headers": "WWW-Authenticate",
		"Access-Control-Allow-Headers":  "Authorization Content-Type Git-Protocol Accept Content-Encoding X-Requested-With",
	} {
		got := strings.Split(h.Get(key), ", ")
		for value := range strings.FieldsSeq(want) {
			if !slices.Contains(got, value) {
				t.Errorf("%s: %q lacks %s", key, got, value)
			}
		}
	}
}

func TestHTTP(t *testing.T) {
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	accept := func(s string) http.Header { return http.Header{"Accept": {s}} }
	tests := []struct {
		name, method, path string
		header             http.Header
		status             int
		contentType, body  string
	}{
		{"page", "GET", "/", accept("text/html,*/*"), 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"information in capitals", "GET", "/", accept("APPLICATION/NOSTR+JSON;q=0.9"), 200, "application/nostr+json", ""},
		{"information before a page", "GET", "/", accept("application/nostr+json, text/html;q=0.5"), 200, "application/nostr+json", ""},
		{"information and no page", "GET", "/", accept("application/*"), 200, "application/nostr+json", ""},
		{"no information", "GET", "/", accept("application/nostr+json;q=0, */*"), 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"a longer type", "GET", "/", accept("application/nostr+json+rpc, text/*"), 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"page without Accept", "GET", "/", nil, 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"page with a query", "GET", "/?x=1", nil, 200, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"information", "GET", "/", accept("application/nostr+json"), 200, "application/nostr+json", `{"name":"test"`},
		{"information among others", "GET", "/", accept("text/html, Application/Nostr+JSON; q=0.9"), 200, "application/nostr+json", `{"name":"test"`},
		{"HEAD", "HEAD", "/", nil, 200, "text/html; charset=utf-8", ""},
		{"HEAD of information", "HEAD", "/", accept("application/nostr+json"), 200, "application/nostr+json", ""},
		{"preflight", "OPTIONS", "/", http.Header{"Origin": {"https://example.com"}, "Access-Control-Request-Method": {"GET"}}, 204, "", ""},
		{"preflight elsewhere", "OPTIONS", "/npub1/d.git/info/refs", nil, 204, "", ""},
		{"post", "POST", "/", nil, 405, "text/plain; charset=utf-8", "405"},
		{"robots.txt", "GET", "/robots.txt", nil, 200, "text/plain; charset=utf-8", "User-agent: *\nDisallow: /operator/\nDisallow: /*.git/archive/\n"},
		{"a robots.txt that is posted", "POST", "/robots.txt", nil, 404, "text/plain; charset=utf-8", "404"},
		{"other path", "GET", "/relay", nil, 404, "text/plain; charset=utf-8", "404"},
		{"other path in a browser", "GET", "/relay", accept("text/html,*/*"), 404, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"a page of the list that is not there", "GET", "/?page=9", accept("text/html,*/*"), 404, "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"a page without Accept that is not there", "GET", "/?page=9", nil, 404, "text/plain; charset=utf-8", "404"},
		{"a form for another path", "POST", "/relay", accept("text/html,*/*"), 404, "text/plain; charset=utf-8", "404"},
		{"information on another path", "GET", "/x", accept("application/nostr+json"), 404, "text/plain; charset=utf-8", "404"},
		{"websocket on another path", "GET", "/x", upgrade, 404, "text/plain; charset=utf-8", "404"},
		{"websocket of no known version", "GET", "/", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 400, "text/plain; charset=utf-8", "unsupported"},
		{"websocket", "GET", "/", upgrade, 101, "", ""},
	}
	inWorldOf(t, relay.Config{Info: nip11.Document{Name: "test"}}, func(t *testing.T, w *world) {
		for _, tt := range tests {
			if tt.status == 101 {
				conn, resp, err := w.connect("198.51.100.1:1", http.Header{"Origin": {"https://elsewhere.example"}})
				if err != nil {
					t.Fatal(err)
				}
				checkCORS(t, resp.Header)
				conn.CloseNow()
				continue
			}
			resp, body := w.get(t, tt.method, tt.path, tt.header)
			if resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.contentType || !strings.HasPrefix(body, tt.body) {
				t.Errorf("%s: %d %q %.40q", tt.name, resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			checkCORS(t, resp.Header)
			if age := resp.Header.Get("Access-Control-Max-Age"); (age == "86400") != (tt.method == "OPTIONS") { // other answers have no use for it
				t.Errorf("%s: Access-Control-Max-Age %q", tt.name, age)
			}
		}
	})
}

// TestInformation: the document tells the limits that are kept, and nothing that does not work.
func TestInformation(t *testing.T) {
	inWorldOf(t, relay.Config{MinPoW: 12, Info: nip11.Document{Name: "test", SupportedNIPs: []int{50}}}, func(t *testing.T, w *world) {
		_, body := w.get(t, "GET", "/", http.Header{"Accept": {"application/nostr+json"}})
		d, err := nip11.Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.SupportedNIPs, []int{1, 9, 11, 13, 34, 40, 42, 45, 50, 56, 62, 70, 77}) || d.SupportedGRASPs != nil {
			t.Errorf("supported: %v, %v", d.SupportedNIPs, d.SupportedGRASPs)
		}
		want := nip11.Limitation{
			MaxMessageLength: 256 << 10, MaxSubscriptions: 64, MaxFilters: 20, MaxLimit: 500, MaxSubIDLength: 64, MaxEventTags: 2000,
			MaxContentLength: 124 << 10, RestrictedWrites: true, CreatedAtUpperLimit: 900, DefaultLimit: 500,
			MinPoWDifficulty: 12,
		}
		if !strings.Contains(body, `"auth_required":false`) {
			t.Error("it does not say that nobody has to authenticate")
		}
		if d.Limitation != want {
			t.Errorf("got  %+v\nwant %+v", d.Limitation, want)
		}
	})
}

func TestPage(t *testing.T) {
	info := nip11.Document{Name: "<b>Tom & Jerry</b>", Description: "a <script>alert(1)</script> relay", Contact: "mailto:op@example.org"}
	inWorldOf(t, relay.Config{Info: info}, func(t *testing.T, w *world) {
		resp, body := w.get(t, "GET", "/", nil)
		for _, want := range []string{
			"&lt;b&gt;Tom &amp; Jerry&lt;/b&gt;", "&lt;script&gt;", ">wss://relay.example.org<", "mailto:op@example.org",
			"https://relay.example.org", "256 KiB", "1, 9, 11, 13, 34, 40, 42, 45, 50, 56, 62, 70, 77",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.Contains(body, "<script") || strings.Contains(body, "<no value>") {
			t.Errorf("the page holds what it must not:\n%s", body)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Error("no content security policy")
		}
	})
}

// TestConnectionRate: too many new connections, and too many open ones, are refused before the upgrade.
func TestConnectionRate(t *testing.T) {
	rates := front.Rates{Connections: 1, Open: 8, OpenTotal: 12}
	inWorldAt(t, rates, relay.Limits{}, func(t *testing.T, w *world) {
		try := func(addr string, status int) *client {
			t.Helper()
			conn, resp, err := w.connect(addr, nil)
			if resp == nil || resp.StatusCode != status {
				t.Fatalf("from %s: %+v, %v", addr, resp, err)
			}
			checkCORS(t, resp.Header)
			if err != nil {
				return nil
			}
			c := newClient(conn)
			t.Cleanup(c.close)
			return c
		}
		for range 8 {
			try("198.51.100.1:1", 101)
		}
		try("198.51.100.1:1", 429)
		for range 10 {
			try("198.51.100.2:1", 101).conn.CloseNow()
			synctest.Wait()
		}
		try("198.51.100.2:1", 429)
		for range 4 {
			try("127.0.0.1:1", 101)
		}
		try("127.0.0.1:1", 503)
	})
}

// TestThePageNamesTheCommands: whoever wants to have a repository hosted reads two commands that do it, before anything about tags; a relay of
// events alone names the tag.
func TestThePageNamesTheCommands(t *testing.T) {
	for _, grasps := range [][]string{{"GRASP-01"}, nil} {
		inWorldOf(t, relay.Config{Info: nip11.Document{Name: "test", SupportedGRASPs: grasps}}, func(t *testing.T, w *world) {
			_, body := w.get(t, "GET", "/", http.Header{"Accept": {"text/html"}})
			commands := strings.Index(body, "ngit init --grasp-server relay.example.org --defaults\ngit push")
			tags, clone := strings.Index(body, `["relays", "wss://relay.example.org"`), strings.Index(body, `["clone", "https://relay.example.org/&lt;npub&gt;/&lt;identifier&gt;.git"`)
			if hosts := len(grasps) > 0; (commands > 0) != hosts || (clone > tags) != hosts || tags < commands {
				t.Errorf("GRASPs %v: the commands are at %d, the tags at %d and %d", grasps, commands, tags, clone)
			}
		})
	}
}
