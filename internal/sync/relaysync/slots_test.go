package relaysync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/sync/slots"
	"github.com/graspd/graspd/internal/test/testkit"
)

// capped is a world with so many slots.
func capped(t *testing.T, most int) *world {
	w := newWorld(t)
	w.adjust = func(c *relaysync.Config) { c.MaxRelays = most }
	return w
}

// wanted has so many owners of their own name a relay.
func (w *world) wanted(u string, owners ...int) {
	w.t.Helper()
	for _, k := range owners {
		w.publish(testkit.Announcement(testkit.Key(k), time.Now().Unix(), fmt.Sprintf("%.40s %d", u[6:], k), ours, u))
	}
}

// phases lists who has a slot, by phase.
func (w *world) phases() map[string][]grasp.RelayURL {
	w.t.Helper()
	out := make(map[string][]grasp.RelayURL)
	for _, s := range w.engine.Relays(w.t.Context()) {
		out[s.Phase] = append(out[s.Phase], s.URL)
	}
	return out
}

// TestTwelveRelaysForFiveSlots: the dead ones hold no slot for long, whoever wants them; the living are connected, the
// most wanted first, and stay so.
func TestTwelveRelaysForFiveSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := capped(t, 5)
		silent, mute, refusing := w.net.Relay("wss://a-silent.example.net"), w.net.Relay("wss://a-mute.example.net"), w.net.Relay("wss://a-refusing.example.net")
		silent.Silent.Store(true)
		mute.NoEOSE.Store(true) // but it answers pings
		mute.Neg = testkit.NegSilent
		refusing.RefuseDial.Store(true)
		dead := []string{string(silent.URL), string(mute.URL), string(refusing.URL), "wss://hole1.example.com", "wss://hole2.example.com"}
		favourite, late := w.net.Relay("wss://z-favourite.example.net"), w.net.Relay("wss://z-late.example.net")
		late.RefuseDial.Store(true)
		var others []*testkit.FakeRelay
		for i := range 5 {
			others = append(others, w.net.Relay(grasp.RelayURL(fmt.Sprintf("wss://b-living%d.example.net", i))))
		}
		w.start()
		defer w.stop()
		for i, u := range dead {
			w.wanted(u, 10*i, 10*i+1, 10*i+2)
		}
		wait(10 * time.Minute) // they have all the slots
		w.wanted(string(favourite.URL), 100, 101)
		w.wanted(string(late.URL), 110, 111)
		for i, r := range others {
			w.wanted(string(r.URL), 120+i)
		}
		wait(time.Hour)
		live := w.phases()["live"]
		if len(live) != 5 || !slices.Contains(live, favourite.URL) {
			t.Fatalf("after an hour: %v", w.phases())
		}
		dials := refusing.Dials()
		late.RefuseDial.Store(false)
		wait(24 * time.Hour)
		if now := w.phases()["live"]; !slices.Equal(now, live) {
			t.Errorf("connected relays with confirmed items lost their slots: %v, then %v", live, now)
		}
		if refusing.Dials() != dials {
			t.Errorf("a relay without a slot was dialed")
		}
		// One fails for good. Those that are dead may be tried in its place, and the most wanted that lives stays there.
		for _, r := range others {
			if slices.Contains(live, r.URL) {
				r.RefuseDial.Store(true)
				r.Drop()
				break
			}
		}
		wait(2 * time.Hour)
		if now := w.phases()["live"]; len(now) != 5 || !slices.Contains(now, late.URL) {
			t.Errorf("the most wanted that lives waits: %v", w.phases())
		}
		if refusing.Dials() == dials {
			t.Error("dead relays are never tried again")
		}
	})
}

// TestDeadRelaysOfManyNamesStarveNobody: whoever comes first by name or number has no advantage over who has not been tried.
func TestDeadRelaysOfManyNamesStarveNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := capped(t, 2)
		good := w.net.Relay("wss://z-good.example.net")
		w.start()
		defer w.stop()
		for i := range 12 {
			w.wanted(fmt.Sprintf("wss://hole%02d.example.com", i), i)
		}
		wait(12 * time.Hour)
		w.wanted(string(good.URL), 100)
		wait(10 * time.Minute)
		if live := w.phases()["live"]; !slices.Contains(live, good.URL) {
			t.Errorf("%v", w.phases())
		}
	})
}

// TestAStrangerWithAThousandRepositories names twenty thousand relays that all live, before anybody else names one.
func TestAStrangerWithAThousandRepositories(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := capped(t, 60)
		var theirs []*testkit.FakeRelay
		w.start()
		defer w.stop()
		for i := range 1000 {
			names := []string{ours}
			for j := range 20 {
				r := w.net.Relay(grasp.RelayURL(fmt.Sprintf("wss://a%03d-%02d.example.com", i, j)))
				theirs, names = append(theirs, r), append(names, string(r.URL))
			}
			w.publish(testkit.Announcement(testkit.Key(500), time.Now().Unix(), fmt.Sprintf("repository %03d", i), names...))
		}
		wait(5 * time.Minute)
		var others []grasp.RelayURL
		for i := range 10 {
			r := w.net.Relay(grasp.RelayURL(fmt.Sprintf("wss://z%d.example.net", i)))
			w.wanted(string(r.URL), i)
			others = append(others, r.URL)
		}
		wait(5 * time.Minute)
		live := w.phases()["live"]
		for _, u := range others {
			if !slices.Contains(live, u) {
				t.Errorf("%s is not connected", u)
			}
		}
		dialed := 0
		for _, r := range theirs {
			dialed += min(1, r.Dials())
		}
		if len(live) != 60 || dialed != 50 {
			t.Errorf("%d are connected, %d of the stranger's were dialed", len(live), dialed)
		}
	})
}

// TestASlotThatIsLeftIsTaken: what nothing names any more goes within two checks, and who waits has its place.
func TestASlotThatIsLeftIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := capped(t, 1)
		first, second := w.net.Relay("wss://first.example.net"), w.net.Relay("wss://second.example.net")
		w.start()
		defer w.stop()
		w.wanted(string(first.URL), 1)
		wait(10 * time.Minute)
		w.wanted(string(second.URL), 2, 3, 4)
		wait(10 * time.Minute)
		if live := w.phases()["live"]; !slices.Equal(live, []grasp.RelayURL{first.URL}) {
			t.Fatalf("%v", w.phases())
		}
		w.publish(testkit.Sign(testkit.Key(1), time.Now().Unix(), nostr.KindDeletion, "", nostr.Tag{"a", testkit.RepositoryAddress(testkit.Key(1), "first.example.net 1")}))
		wait(2 * time.Minute)
		if live := w.phases()["live"]; !slices.Equal(live, []grasp.RelayURL{second.URL}) || first.Open() != 0 {
			t.Errorf("%v", w.phases())
		}
	})
}

// TestAnotherNameOfOurOwnTakesNoSlot: only the information document tells.
func TestAnotherNameOfOurOwnTakesNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := capped(t, 1)
		self, other := w.net.Relay("wss://alias.example.net"), w.net.Relay("wss://other.example.net")
		self.Info = &nip11.Document{Self: testkit.Key(999).PubKey().String()}
		w.start()
		defer w.stop()
		w.wanted(string(self.URL), 1, 2, 3)
		wait(10 * time.Minute)
		w.wanted(string(other.URL), 4)
		wait(2 * time.Minute)
		if s, _ := w.status(other.URL); s.Phase != "live" {
			t.Errorf("%v", w.phases())
		}
		other.RefuseDial.Store(true)
		other.Drop()
		wait(24 * time.Hour)
		if n := self.Dials(); n != 1 {
			t.Errorf("dialed itself %d times", n)
		}
	})
}

// TestAHostOfManyPorts: announcements that name one host under many ports and paths have it connected to a few times only,
// though slots are free; who fails there makes way for the next, an address of the operator's own network is not limited,
// and bootstrap relays are besides.
func TestAHostOfManyPorts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var crowd, own []*testkit.FakeRelay
		for i := range 12 {
			crowd = append(crowd, w.net.Relay(grasp.RelayURL(fmt.Sprintf("wss://victim.example.net:%d/path", 1000+i))))
			own = append(own, w.net.Relay(grasp.RelayURL(fmt.Sprintf("ws://10.0.0.1:%d", 1000+i))))
		}
		boot := w.net.Relay("wss://victim.example.net")
		other := w.net.Relay("wss://other.example.net")
		w.boot = append(w.boot, boot.URL)
		w.start()
		defer w.stop()
		for i := range crowd {
			w.wanted(string(crowd[i].URL), 10*i)
			w.wanted(string(own[i].URL), 10*i+1)
		}
		w.wanted(string(other.URL), 500)
		wait(time.Hour)
		count := func(relays []*testkit.FakeRelay) (open, dialed int) {
			for _, r := range relays {
				open += r.Open()
				dialed += min(1, r.Dials())
			}
			return open, dialed
		}
		if open, dialed := count(crowd); open != slots.PerHost || dialed != slots.PerHost {
			t.Errorf("%d connections to one host, %d of its relays were dialed", open, dialed)
		}
		if open, _ := count(own); open != len(own) {
			t.Errorf("%d connections to an address of the own network", open)
		}
		if boot.Dials() != 1 || boot.Open() == 0 || other.Open() != 1 { // the bootstrap relay is asked for everything that is here
			t.Errorf("%d connections to the bootstrap relay of that name, %d to another host", boot.Dials(), other.Open())
		}
		for _, r := range crowd {
			if r.Open() == 1 {
				r.RefuseDial.Store(true)
				r.Drop()
				break
			}
		}
		wait(time.Hour)
		if open, _ := count(crowd); open != slots.PerHost {
			t.Errorf("%d connections to the host after one relay there has gone", open)
		}
	})
}
