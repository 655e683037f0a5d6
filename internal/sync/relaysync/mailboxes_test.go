package relaysync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/sync/slots"
	"github.com/graspd/graspd/internal/test/testkit"
)

const indexURL, homeURL = "wss://index.example.net", "wss://home.example.net"

// posted is a world in which mailboxes are asked, with a repository and an issue.
func posted(t *testing.T, most int) (w *world, index *testkit.FakeRelay, issue *nostr.Event) {
	w = newWorld(t)
	w.mail = true
	w.adjust = func(c *relaysync.Config) { c.Index, c.MaxRelays = []grasp.RelayURL{indexURL}, most }
	index = w.net.Relay(indexURL)
	w.start()
	now := time.Now().Unix()
	w.publish(testkit.Announcement(testkit.Key(1), now, "proj", ours))
	issue = testkit.Issue(testkit.Key(2), now, testkit.RepositoryAddress(testkit.Key(1), "proj"), "broken")
	w.publish(issue)
	return w, index, issue
}

func relayList(key int, relays ...string) *nostr.Event {
	var tags []nostr.Tag
	for _, u := range relays {
		tags = append(tags, nostr.Tag{"r", u})
	}
	return testkit.Sign(testkit.Key(key), time.Now().Unix(), nostr.KindRelayList, "", tags...)
}

// A participant's list comes from an index relay, and what only their own relay has from there, for as long as they take part.
func TestMailboxesOfParticipants(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, index, issue := posted(t, 0)
		defer func() { w.stop() }()
		home, elsewhere := w.net.Relay(homeURL), w.net.Relay("wss://elsewhere.example.net")
		list, strangers := relayList(2, homeURL), relayList(3, "wss://elsewhere.example.net")
		index.Add(list, strangers)
		now := time.Now().Unix()
		comment := testkit.Comment(testkit.Key(2), now, issue, "it is the cable")
		reaction := testkit.Sign(testkit.Key(2), now, nostr.KindReaction, "+", nostr.Tag{"e", issue.ID.String()})
		profile := testkit.Sign(testkit.Key(2), now, nostr.KindMetadata, "{}")
		servers := testkit.Sign(testkit.Key(2), now, nip34.KindGraspList, "", nostr.Tag{"g", "wss://g.example"})
		other := testkit.Comment(testkit.Key(3), now, issue, "nobody here knows who says this")
		note := testkit.Sign(testkit.Key(2), now, nostr.KindNote, "good morning")
		home.Add(comment, reaction, profile, servers, other, note)
		wait(10 * time.Minute)
		w.wantStored(list, comment, reaction, profile, servers)
		w.wantAbsent(strangers, other, note)
		if s, ok := w.status(homeURL); !ok || s.Mailbox != 1 || s.Index || s.Connected || home.Dials() != 1 {
			t.Errorf("%d dials, %+v", home.Dials(), s)
		}
		if s, ok := w.status(indexURL); !ok || !s.Index || s.Mailbox != 0 {
			t.Errorf("%+v", s)
		}
		if elsewhere.Dials() > 0 {
			t.Error("a relay is dialed that only a stranger's list names")
		}

		w.stop()
		w.start() // what is stored leads there again, on the next day
		wait(10 * time.Minute)
		if home.Dials() != 1 {
			t.Errorf("a restart visits it again: %d dials", home.Dials())
		}
		late := testkit.Comment(testkit.Key(2), time.Now().Unix(), issue, "it is not")
		home.Add(late)
		wait(26 * time.Hour)
		w.wantStored(late)

		for _, e := range []*nostr.Event{issue, comment, reaction, late} {
			w.publish(testkit.Sign(testkit.Key(2), time.Now().Unix(), nostr.KindDeletion, "", nostr.Tag{"e", e.ID.String()}))
		}
		wait(5 * time.Minute)
		dials := home.Dials()
		wait(50 * time.Hour)
		if s, ok := w.status(homeURL); ok || home.Dials() != dials {
			t.Errorf("somebody takes part no more: %d dials, %+v", home.Dials()-dials, s)
		}
	})
}

// A mailbox that a repository comes to name is followed like any relay that one names, and stays a mailbox.
func TestAMailboxThatIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _, _ := posted(t, 0)
		defer w.stop()
		w.net.Relay(homeURL)
		w.publish(relayList(2, homeURL))
		wait(10 * time.Minute)
		if s, ok := w.status(homeURL); !ok || !s.OnlyMailbox || s.Mailbox != 1 {
			t.Fatalf("before: %+v", s)
		}
		w.wanted(homeURL, 50)
		wait(time.Minute)
		if s, ok := w.status(homeURL); !ok || s.OnlyMailbox || s.Mailbox != 1 || s.Phase != "live" {
			t.Errorf("named: %+v", s)
		}
	})
}

// Mailboxes have the slots that nobody else wants, few at a time, and each gets its turn.
func TestMailboxesTakeNobodysSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, index, issue := posted(t, 3)
		defer w.stop()
		var homes []*testkit.FakeRelay
		for i := range 12 {
			u := fmt.Sprintf("wss://home%d.example.net", i)
			homes = append(homes, w.net.Relay(grasp.RelayURL(u)))
			homes[i].Silent.Store(true) // a visit takes for ever
			w.publish(testkit.Comment(testkit.Key(10+i), time.Now().Unix(), issue, "me too"))
			index.Add(relayList(10+i, u))
		}
		wait(3 * time.Minute)
		if n := len(w.engine.Relays(t.Context())); n != 3 {
			t.Fatalf("%d relays are connected to", n)
		}
		named := []string{"wss://a.example.net", "wss://b.example.net", "wss://c.example.net"}
		var first *testkit.FakeRelay
		for i, u := range named {
			if r := w.net.Relay(grasp.RelayURL(u)); i == 0 {
				first = r
			}
			w.wanted(u, 100+i)
		}
		wait(20 * time.Second)
		for _, u := range named {
			if s, ok := w.status(grasp.RelayURL(u)); !ok || s.Phase != "live" {
				t.Errorf("%s waits for mailboxes: %+v", u, s)
			}
		}
		wait(48 * time.Hour)
		if live := w.phases()["live"]; len(live) != 3 {
			t.Errorf("two days later: %v", w.phases())
		}
		for _, h := range homes {
			h.Silent.Store(false)
		}
		first.RefuseDial.Store(true)
		first.Drop()
		wait(2 * time.Hour)
		if s, ok := w.status(grasp.RelayURL(named[0])); !ok {
			t.Errorf("a mailbox has the slot of a relay that fails: %+v", s)
		}
	})
}

// There may be many more mailboxes than are asked at once.
func TestEveryMailboxGetsItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, index, issue := posted(t, 100)
		defer w.stop()
		var comments []*nostr.Event
		var homes []*testkit.FakeRelay
		for i := range 60 {
			u := fmt.Sprintf("wss://home%d.example.net", i)
			w.publish(testkit.Comment(testkit.Key(10+i), time.Now().Unix(), issue, "me too"))
			index.Add(relayList(10+i, u))
			comments = append(comments, testkit.Comment(testkit.Key(10+i), time.Now().Unix(), issue, "still"))
			homes = append(homes, w.net.Relay(grasp.RelayURL(u)))
			homes[i].Add(comments[i])
		}
		most := 0
		for range 60 {
			wait(time.Minute)
			most = max(most, len(w.engine.Relays(t.Context())))
		}
		w.wantStored(comments...)
		if most > slots.PerMailbox {
			t.Errorf("%d are asked at once", most)
		}
		for i, h := range homes {
			if n := h.Dials(); n != 1 {
				t.Errorf("home %d is dialed %d times", i, n)
			}
		}
	})
}

// Where mailboxes are off nobody's list is taken, and no relay is asked for one.
func TestNoMailboxesUnlessTurnedOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.adjust = func(c *relaysync.Config) { c.Index = []grasp.RelayURL{indexURL} }
		index, home := w.net.Relay(indexURL), w.net.Relay(homeURL)
		w.start()
		defer w.stop()
		now := time.Now().Unix()
		w.publish(testkit.Announcement(testkit.Key(1), now, "proj", ours))
		list := relayList(1, homeURL)
		w.publish(list)
		wait(26 * time.Hour)
		w.wantAbsent(list)
		if n := index.Dials() + home.Dials(); n > 0 {
			t.Errorf("%d dials", n)
		}
	})
}
