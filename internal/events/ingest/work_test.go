package ingest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// mine makes an event with some proof of work.
func mine(author int, at time.Time, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	for n := 0; ; n++ {
		e := event(author, at, kind, "", append(tags[:len(tags):len(tags)], nostr.Tag{"nonce", fmt.Sprint(n), "6"})...)
		if e.Work() >= 6 {
			return e
		}
	}
}

// lazy is one with none.
func lazy(author int, at time.Time, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return event(author, at, kind, "", append(tags, nostr.Tag{"nonce", "0", "0"})...)
}

// A difficulty is the same for clients and for relays, and what lacks work is not fetched again.
func TestWorkIsWantedOfRelaysToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{pow: 6})
		defer w.end()
		repo := nostr.Tags{{"d", "tool"}, {"relays", "wss://" + domain}}
		without, with := lazy(1, time.Now(), nip34.KindRepository, repo...), mine(1, time.Now(), nip34.KindRepository, repo...)
		w.want(w.fetch(w.peer("a"), without), policy.Refuse)
		w.want(w.publish(w.client(), without), policy.Refuse)
		if k := w.known(without); k.State != store.Remembered || k.Why != policy.Refuse {
			t.Errorf("the store knows %v of it", k)
		}
		w.want(w.fetch(w.peer("a"), with), policy.Accept)
	})
}

// An author's deletion needs no work and counts whichever comes first, it or its target.
func TestDeletionNeedsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{pow: 6})
		defer w.end()
		w.want(w.publish(w.client(), mine(1, time.Now(), nip34.KindRepository, nostr.Tag{"d", "tool"}, nostr.Tag{"relays", "wss://" + domain})), policy.Accept)
		address := nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: "tool"}.String()
		issue := mine(2, time.Now(), nip34.KindIssue, nostr.Tag{"a", address})
		other := mine(2, time.Now().Add(time.Second), nip34.KindIssue, nostr.Tag{"a", address})
		gone := lazy(2, time.Now(), nostr.KindDeletion, nostr.Tag{"e", issue.ID.String()})
		w.want(w.fetch(w.peer("a"), gone), policy.Unrelated)
		w.want(w.publish(w.client(), other), policy.Accept)
		synctest.Wait()
		if w.get(gone.ID) == nil {
			t.Fatal("the deletion was not taken once its author had something here")
		}
		w.want(w.publish(w.client(), issue), policy.Deleted)
	})
}
