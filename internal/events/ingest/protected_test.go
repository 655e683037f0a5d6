package ingest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// as is a client on whose connection these authors have authenticated.
func (w *world) as(authors ...int) *ingest.Source {
	var keys []nostr.PubKey
	for _, n := range authors {
		keys = append(keys, key(n))
	}
	return w.door.Source(ingest.SourceConfig{
		Label: "client", Direct: true,
		Bearer: func(e *nostr.Event) policy.Bearer { return policy.BearerOf(e, keys) },
	})
}

// Protected events are not taken from relays, nor fetched again from one that has them.
func TestProtectedEventsAreNotTakenFromRelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now(), nostr.Tag{"-"})
		w.want(w.fetch(w.peer("a"), repo), policy.Refuse)
		if k := w.known(repo); k.State != store.Remembered {
			t.Errorf("the store knows %v of it", k)
		}
	})
}

// A protected event that was refused from everybody else is taken from its author, and stays however it comes again.
func TestProtectedEventIsTakenFromItsAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now(), nostr.Tag{"-"})
		for _, other := range []*ingest.Source{w.peer("a"), w.client(), w.as(2)} {
			for range 2 {
				w.want(w.publish(other, repo), policy.Refuse)
			}
		}
		if v := w.publish(w.client(), repo); !strings.HasPrefix(v.Reason, "auth-required: ") {
			t.Errorf("a client that has not authenticated hears %q", v.Reason)
		}
		if v := w.publish(w.as(2), repo); !strings.HasPrefix(v.Reason, "restricted: ") {
			t.Errorf("a client that has authenticated as somebody else hears %q", v.Reason)
		}
		w.want(w.publish(w.as(2, 1), repo), policy.Accept)
		w.want(w.fetch(w.peer("a"), repo), policy.Duplicate)
		w.want(w.publish(w.client(), repo), policy.Duplicate)
		if w.get(repo.ID) == nil || w.known(repo).State != store.Stored {
			t.Error("it is not served")
		}
	})
}

// Copies that are on their way together are decided each by who brought it.
func TestProtectedCopiesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		w := newWorld(t, setup{config: ingest.Config{
			Workers: 2, Verifier: &marked{Gate: func(nostr.ID, nostr.Sig) { <-hold }},
		}})
		defer w.end()
		repo := announcement(1, "tool", time.Now(), nostr.Tag{"-"})
		first := w.submit(w.peer("a"), repo, store.Catchup)
		synctest.Wait()
		stranger, author := w.submit(w.client(), repo.Clone(), store.Direct), w.submit(w.as(1), repo.Clone(), store.Direct)
		synctest.Wait()
		close(hold)
		w.want(<-author, policy.Accept)
		for _, c := range []<-chan policy.Verdict{first, stranger} { // before or after it, but no other word
			if v := <-c; v.Outcome != policy.Refuse && v.Outcome != policy.Duplicate {
				t.Errorf("somebody else hears %v %q", v.Outcome, v.Reason)
			}
		}
		if w.get(repo.ID) == nil {
			t.Error("it is not served")
		}
	})
}

// A protected event that its author brought waits for what it names, whoever else offers it meanwhile.
func TestProtectedOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		patch := event(2, time.Now(), 1617, "", nostr.Tag{"a", repo.Address()}, nostr.Tag{"-"})
		w.want(w.publish(w.client(), patch), policy.Refuse)
		w.want(w.publish(w.as(2), patch), policy.Unrelated)
		w.want(w.publish(w.client(), patch), policy.Unrelated)
		w.want(w.fetch(w.peer("a"), patch), policy.Unrelated)
		w.want(w.publish(w.client(), repo), policy.Accept)
		synctest.Wait()
		if w.get(patch.ID) == nil {
			t.Error("it did not come with its repository")
		}
	})
}

// One that nobody brought in person does not: it is refused as it is, and not kept.
func TestProtectedEventOfAStrangerDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		patch := event(2, time.Now(), 1617, "", nostr.Tag{"a", repo.Address()}, nostr.Tag{"-"})
		w.want(w.publish(w.client(), patch), policy.Refuse)
		w.want(w.publish(w.client(), repo), policy.Accept)
		synctest.Wait()
		if w.get(patch.ID) != nil || w.door.Stats().Orphans != 0 {
			t.Error("it was kept")
		}
		w.want(w.publish(w.as(2), patch), policy.Accept)
	})
}
