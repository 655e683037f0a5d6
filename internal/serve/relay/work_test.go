package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestMinimumWork: a client hears what is missing, and is taken once it has done the work.
func TestMinimumWork(t *testing.T) {
	inWorldOf(t, relay.Config{MinPoW: 10}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		e := announcement()
		if ok := c.publish(t, e); ok.OK || !strings.HasPrefix(ok.Reason, "pow: this relay wants 10 bits of proof of work (NIP-13)") {
			t.Errorf("without work: %+v", ok)
		}
		for n := int64(0); e.Work() < 10; n++ {
			e = event(1, time.Now().Unix(), nip34.KindRepository, "", nostr.Tag{"d", "d"}, nostr.Tag{"relays", "wss://" + domain},
				nostr.Tag{"nonce", time.Unix(n, 0).String(), "10"})
		}
		if ok := c.publish(t, e); !ok.OK {
			t.Errorf("with work: %+v", ok)
		}
		_, page := w.get(t, "GET", "/", nil)
		if !strings.Contains(page, "<dd>10 bits</dd>") {
			t.Error("the page does not tell")
		}
	})
}
