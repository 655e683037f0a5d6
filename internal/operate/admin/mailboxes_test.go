package admin_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/status"
)

// The page says whose mailbox a relay is, in the list and on its own page, and has it searched for.
func TestWhyARelayIsKnown(t *testing.T) {
	c := shown()
	list := append(relays(), status.Relay{URL: "wss://home.example.net", Phase: "waiting", Health: status.Healthy, Mailbox: 12, OnlyMailbox: true})
	c.Sync = fakeSync{relays: list}
	for path, want := range map[string][]string{
		"/":                 {`title="mailbox of 12 people">mailbox</span>`},
		"/relays?q=mailbox": {"wss://home.example.net"},
		"/relay?url=wss%3A%2F%2Fhome.example.net": {"known as", "mailbox of 12 people"},
	} {
		page := get(t, c, "GET", path).Body.String()
		for _, s := range want {
			if !strings.Contains(page, s) {
				t.Errorf("%s does not have %s", path, s)
			}
		}
		if path != "/" && strings.Contains(page, "wss://other.example.net</a>") {
			t.Errorf("%s shows another relay", path)
		}
	}
}
