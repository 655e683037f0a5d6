package ingest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhatBecameOfTheNewerVersion: the refusal of an older version says it.
func TestWhatBecameOfTheNewerVersion(t *testing.T) {
	const gone = "invalid: a newer version of this event was here, and %s; publish with a later created_at to come after it"
	for name, c := range map[string]struct {
		newer func(at time.Time) []*nostr.Event
		want  string
	}{
		"here": {func(at time.Time) []*nostr.Event { return []*nostr.Event{announcement(1, "tool", at)} },
			"invalid: a newer version of this event is here; publish with a later created_at to replace it"},
		"deleted": {func(at time.Time) []*nostr.Event {
			e := event(1, at, nostr.KindMetadata, "{}")
			return []*nostr.Event{announcement(1, "other", at), e, event(1, at, nostr.KindDeletion, "", nostr.Tag{"e", e.ID.String()})}
		}, fmt.Sprintf(gone, "was deleted by its author")},
		"expired": {func(at time.Time) []*nostr.Event {
			return []*nostr.Event{announcement(1, "tool", at, nostr.Tag{"expiration", fmt.Sprint(at.Unix() + 60)})}
		}, fmt.Sprintf(gone, "has expired")},
		"left": {func(at time.Time) []*nostr.Event {
			return []*nostr.Event{announcement(1, "tool", at.Add(-time.Second)), elsewhere(1, "tool", at)}
		},
			fmt.Sprintf(gone, "said that its repository leaves this relay")},
	} {
		for _, later := range []time.Duration{2 * time.Minute, time.Hour} { // what expired is served no more, and then removed
			t.Run(fmt.Sprint(name, " after ", later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, setup{})
					defer w.end()
					at := time.Now()
					old := announcement(1, "tool", at.Add(-time.Minute))
					for _, e := range c.newer(at) {
						w.publish(w.client(), e)
						if e.Kind == nostr.KindMetadata {
							old = event(1, at.Add(-time.Minute), nostr.KindMetadata, "{}")
						}
					}
					time.Sleep(later)
					if v := w.publish(w.client(), old); v.Outcome != policy.Superseded && v.Outcome != policy.Deleted || v.Reason != c.want {
						t.Errorf("%s %q", v.Outcome, v.Reason)
					}
				})
			})
		}
	}
}

// TestAnOlderVersionOfWhatWaits hears that the newer one waits.
func TestAnOlderVersionOfWhatWaits(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now := time.Now()
	h.want(h.publish(h.client(), hostedBy(t, 1, "tool", now)), policy.Wait)
	if v := h.publish(h.client(), hostedBy(t, 1, "tool", now.Add(-time.Second))); v.Outcome != policy.Superseded ||
		v.Reason != "invalid: a newer version of this event waits here for its git data; publish with a later created_at to replace it" {
		t.Errorf("%s %q", v.Outcome, v.Reason)
	}
}

// TestACopyOfWhatHasExpired: it is no duplicate, though it is still on disk. A forged copy tells nothing.
func TestACopyOfWhatHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		e := event(1, time.Now(), nip34.KindIssue, "soon over", nostr.Tag{"a", repo.Address()}, nostr.Tag{"expiration", fmt.Sprint(time.Now().Unix() + 60)})
		w.want(w.publish(w.client(), e), policy.Accept)
		w.want(w.publish(w.client(), e), policy.Duplicate)
		forged := repo.Clone()
		forged.Tags = append(forged.Tags, nostr.Tag{"expiration", "1"})
		w.want(w.publish(w.client(), forged), policy.Invalid)
		for range 2 {
			time.Sleep(2 * time.Minute) // the clock is not believed yet
			if v := w.publish(w.client(), e); v.Outcome != policy.Expired || v.OK() || v.Reason != "invalid: this event has expired (NIP-40); publish one with a later expiration" {
				t.Errorf("%s %q", v.Outcome, v.Reason)
			}
		}
		time.Sleep(time.Hour)
		w.want(w.publish(w.client(), e), policy.Expired)
		w.want(w.publish(w.client(), repo), policy.Duplicate)
	})
}
