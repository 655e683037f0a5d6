package relay_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestTheOperatorsName: the host's own name is the operator's (NIP-05) for every web page that asks, and nobody has another one.
func TestTheOperatorsName(t *testing.T) {
	const pk = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
	const mine, none = `{"names":{"_":"` + pk + `"}}`, `{"names":{}}`
	for _, tt := range []struct{ pubkey, method, path, want string }{
		{pk, "GET", "/.well-known/nostr.json?name=_", mine},
		{pk, "HEAD", "/.well-known/nostr.json?name=_", ""},
		{pk, "GET", "/.well-known/nostr.json?name=bob", none},
		{pk, "GET", "/.well-known/nostr.json", none},
		{"", "GET", "/.well-known/nostr.json?name=_", none},
	} {
		inWorldOf(t, relay.Config{Info: nip11.Document{PubKey: tt.pubkey}}, func(t *testing.T, w *world) {
			resp, body := w.get(t, tt.method, tt.path, nil)
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || body != tt.want {
				t.Errorf("%q %s %s: %d %q %s", tt.pubkey, tt.method, tt.path, resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			checkCORS(t, resp.Header)
		})
	}
	inWorldOf(t, relay.Config{Info: nip11.Document{PubKey: pk}}, func(t *testing.T, w *world) {
		if resp, _ := w.get(t, "POST", "/.well-known/nostr.json?name=_", nil); resp.StatusCode != 404 {
			t.Errorf("POST: %d", resp.StatusCode)
		}
	})
}
