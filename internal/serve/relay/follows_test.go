package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestARelayWithoutADoor serves what others store, live and stored, lists it on its page, and has everybody who publishes try again.
func TestARelayWithoutADoor(t *testing.T) {
	inBubble(t, settings{follows: true}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		c.send(t, `["REQ","s",{}]`)
		c.read(t) // EOSE
		ann := announcement()
		c.send(t, string(nostr.AppendEventMsg(nil, ann)))
		if ok, is := parse(t, c.read(t)).(nostr.OK); !is || ok.OK || ok.ID != ann.ID || ok.Reason != "error: no node takes writes at the moment; try again" {
			t.Errorf("it says %+v", ok)
		}
		w.put(t, ann)
		if e, is := parse(t, c.read(t)).(nostr.RelayEvent); !is || e.Event.ID != ann.ID {
			t.Errorf("live comes %+v", e)
		}
		if _, page := w.get(t, http.MethodGet, "/", http.Header{"Accept": {"text/html"}}); !strings.Contains(page, "nostr://") {
			t.Errorf("the page lists no repository: %s", page)
		}
	})
}
