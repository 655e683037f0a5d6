package relaysync_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// A request to vanish that a relay has is found by the full resync. What it concerns leaves, and is fetched neither the
// next day, nor when it is remembered no more than a moment, from a relay that goes on offering it.
func TestARequestToVanishFoundByTheFullResync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 30)
		defer w.stop()
		w.wantStored(p.all()...)
		request := testkit.Sign(testkit.Key(2), time.Now().Unix()-60, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"})
		boot.Store(request)
		wait(26 * time.Hour)
		w.wantStored(p.ann, request)
		w.wantAbsent(append(p.issues, p.comments...)...)
		if s, _ := w.status(bootURL); s.Want.Roots != 0 {
			t.Errorf("%d roots are still wanted", s.Want.Roots)
		}
		before := boot.Sent()
		wait(50 * time.Hour)
		if n := boot.Sent() - before; n != 0 {
			t.Errorf("%d events were sent again", n)
		}
		wait(8 * 24 * time.Hour)
		w.wantAbsent(append(p.issues, p.comments...)...)
		back := testkit.Issue(testkit.Key(2), time.Now().Unix(), p.address, "back again")
		boot.Add(back)
		wait(time.Minute)
		w.wantStored(back)
	})
}
