package ingest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Events that the policy refused are not verified nor decided again when relays send them, and are taken when the
// reason for the refusal ends.
func TestRefusedIsAnsweredFromMemoryUntilItsReasonEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{OrphanBytes: 1}}})
		defer w.end()
		p := w.peer("a")
		repo := announcement(1, "tool", time.Now())
		bug := issue(2, repo, time.Now(), "bug")
		for range 5 {
			w.want(w.fetch(p, bug), policy.Unrelated)
		}
		if n := w.verifier.checks(bug.ID); n != 1 {
			t.Errorf("verified %d times, want once", n)
		}
		w.want(w.fetch(p, repo), policy.Accept)
		w.want(w.fetch(p, bug), policy.Accept)
	})
}

// What a relay still has of older versions and of deleted events is neither stored nor in the feed nor verified twice.
func TestOldVersionsAndDeletedEventsStayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		older := announcement(1, "tool", now.Add(-time.Hour))
		newer := announcement(1, "tool", now)
		bug := issue(2, newer, now, "bug")
		del := deletion(2, now, bug)
		for _, e := range []*nostr.Event{older, newer, bug, del} {
			w.want(w.fetch(p, e), policy.Accept)
		}
		head := w.store.Head()
		for range 3 {
			w.want(w.fetch(p, older), policy.Superseded)
			w.want(w.fetch(p, bug), policy.Deleted)
		}
		if w.store.Head() != head {
			t.Error("the feed has grown")
		}
		if w.get(older.ID) != nil || w.get(bug.ID) != nil {
			t.Error("stored again")
		}
		if w.verifier.checks(older.ID) != 1 || w.verifier.checks(bug.ID) != 1 {
			t.Error("verified again")
		}
		if n := w.door.Stats().Decided[store.Catchup][policy.Accept]; n != 4 {
			t.Errorf("%d events count as new, want 4", n)
		}
	})
}

// An event whose deletion is stored is refused, whichever way it comes.
func TestDeletionFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(2, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		for i, submit := range []func(*nostr.Event) policy.Verdict{
			func(e *nostr.Event) policy.Verdict { return w.publish(c, e) },
			func(e *nostr.Event) policy.Verdict { return w.fetch(p, e) },
		} {
			bug := issue(2, repo, now, string(rune('a'+i)))
			w.want(w.publish(c, deletion(2, now.Add(time.Duration(i)), bug)), policy.Accept)
			w.want(submit(bug), policy.Deleted)
			w.want(submit(bug), policy.Deleted)
		}
	})
}

// A newer announcement that no longer lists us takes the older one away for good, and with it those who were there by
// its invitation only. Other people's events stay.
func TestAWithdrawnAnnouncementStaysGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now, maintainers(2))
		invited := elsewhere(2, "tool", now, maintainers(1))
		bug := issue(3, repo, now, "bug")
		for _, e := range []*nostr.Event{repo, invited, bug} {
			w.want(w.publish(c, e), policy.Accept)
		}
		gone := elsewhere(1, "tool", now.Add(time.Minute), maintainers(2))
		w.want(w.publish(c, gone), policy.Withdraw)
		if w.get(repo.ID) != nil || w.get(gone.ID) != nil {
			t.Error("the owner's announcement is still served")
		}
		if w.get(invited.ID) != nil {
			t.Error("the announcement of a maintainer whose invitation ended is still served")
		}
		if w.get(bug.ID) == nil {
			t.Error("somebody else's issue is gone")
		}
		for range 2 {
			w.want(w.fetch(p, repo), policy.Superseded)
			w.want(w.publish(c, repo), policy.Superseded)
			w.want(w.publish(c, invited), policy.Unlisted)
		}
		// The owner comes back, and so does the maintainer, from the orphan buffer.
		w.want(w.publish(c, announcement(1, "tool", now.Add(2*time.Minute), maintainers(2))), policy.Accept)
		synctest.Wait()
		time.Sleep(time.Second)
		if w.get(invited.ID) == nil {
			t.Error("the maintainer did not come back with the owner")
		}
	})
}

// An invitation also ends when the owner deletes his announcement, lets it expire, or lists somebody else.
func TestTheEndOfAnInvitation(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		repo *nostr.Event
		end  *nostr.Event
	}{
		{"deleted by address", announcement(1, "tool", now, maintainers(2)),
			event(1, now, nostr.KindDeletion, "", nostr.Tag{"a", announcement(1, "tool", now).Address()})},
		{"deleted by id", announcement(1, "tool", now, maintainers(2)),
			event(1, now, nostr.KindDeletion, "", nostr.Tag{"e", announcement(1, "tool", now, maintainers(2)).ID.String()})},
		{"somebody else is listed", announcement(1, "tool", now, maintainers(2)), announcement(1, "tool", now.Add(1e9), maintainers(3))},
		{"expired", announcement(1, "tool", now, maintainers(2), nostr.Tag{"expiration", "946685700"}), nil}, // after 15 min
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{})
				defer w.end()
				s := w.client()
				invited := elsewhere(2, "tool", now, maintainers(1))
				w.want(w.publish(s, c.repo), policy.Accept)
				w.want(w.publish(s, invited), policy.Accept)
				if c.end != nil {
					w.want(w.publish(s, c.end), policy.Accept)
				} else {
					time.Sleep(17 * time.Minute)
				}
				if w.get(invited.ID) != nil {
					t.Error("the announcement of the invited is still served")
				}
				if k := w.known(invited); k.State != store.Remembered || k.Why != policy.Withdraw {
					t.Errorf("the store knows %v of it", k)
				}
			})
		})
	}
}

// The end of an invitation is seen by the next decision in the same batch, and where an announcement changes more than
// once in a batch the last change counts.
func TestTheEndOfAnInvitationWithinABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, now := newWorld(t, setup{}), time.Now()
		invited := elsewhere(2, "tool", now, maintainers(1))
		c := first.client()
		first.want(first.publish(c, announcement(1, "tool", now, maintainers(2))), policy.Accept)
		first.want(first.publish(c, invited), policy.Accept)
		c.Close()
		first.end()
		w := newWorld(t, setup{fs: first.fs, idle: true}) // so that all are on their way before the first is decided
		defer w.end()
		p := w.peer("a")
		var verdicts []policy.Verdict
		for _, e := range []*nostr.Event{
			announcement(1, "tool", now.Add(time.Second), maintainers(3)),
			state(2, "tool", now),
			announcement(1, "tool", now.Add(2*time.Second), maintainers(3, 4)),
			elsewhere(4, "tool", now, maintainers(1)),
			announcement(1, "tool", now.Add(3*time.Second), maintainers(3)),
		} {
			if err := p.Submit(t.Context(), e, store.Catchup, func(v policy.Verdict) { verdicts = append(verdicts, v) }); err != nil {
				t.Fatal(err)
			}
		}
		w.run()
		time.Sleep(time.Second)
		synctest.Wait()
		for i, want := range []policy.Outcome{policy.Accept, policy.NoMaintainer, policy.Accept, policy.Accept, policy.Accept} {
			if verdicts[i].Outcome != want {
				t.Errorf("verdict %d is %v, want %v", i, verdicts[i], want)
			}
		}
		if n := w.door.Stats().Commits; n != 1 {
			t.Errorf("%d batches, want one", n)
		}
		if n := w.store.Stats().Events; n != 1 {
			t.Errorf("%d events are served, want the owner's announcement only", n)
		}
	})
}

// What was refused because the clock was a day behind is taken once the clock is right.
func TestRefusedByAClockThatWasBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := 24 * time.Hour
		clock := func() time.Time { return time.Now().Add(-behind).Round(0) }
		w := newWorld(t, setup{opt: store.Options{Now: clock}, config: ingest.Config{Now: clock}})
		defer w.end()
		c, p := w.client(), w.peer("a")
		repo := announcement(1, "tool", time.Now())
		w.want(w.fetch(p, repo), policy.Discard)
		w.want(w.publish(c, repo), policy.Discard)
		if k := w.known(repo); k.State != store.Unknown {
			t.Errorf("remembered as %v", k.Why)
		}
		synctest.Wait()
		behind = 0
		w.want(w.fetch(p, repo), policy.Accept)
	})
}

// What was refused as expired while the clock was ahead does not count as refused once the clock is right: neither is it known, nor
// among what a reconciliation takes for known, so that relays bring it. What has expired by the right clock stays away.
func TestRefusedByAClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := 24 * time.Hour
		clock := func() time.Time { return time.Now().Add(ahead).Round(0) }
		w := newWorld(t, setup{opt: store.Options{Now: clock}, config: ingest.Config{Now: clock}})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		expires := func(after time.Duration) nostr.Tag {
			return nostr.Tag{"expiration", fmt.Sprint(now.Add(after).Unix())}
		}
		repo, later := announcement(1, "tool", now, expires(20*time.Hour)), announcement(2, "tool", now, expires(20*time.Hour))
		gone := announcement(3, "tool", now, expires(-time.Hour))
		claimed := func() (ids []nostr.ID) {
			v := w.store.View()
			defer v.Close()
			for pair, err := range v.Pairs(t.Context(), nostr.Filter{Kinds: []nostr.Kind{30617}}, true) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, pair.ID)
			}
			return ids
		}
		for _, e := range []*nostr.Event{repo, later, gone} {
			w.want(w.fetch(p, e), policy.Expired)
			w.want(w.fetch(p, e), policy.Expired)
			if n := w.verifier.checks(e.ID); n != 1 || len(claimed()) == 0 {
				t.Errorf("not remembered: verified %d times, %d claimed", n, len(claimed()))
			}
		}
		synctest.Wait()
		ahead = 0
		if k := w.known(repo); k.State != store.Unknown || slices.Contains(claimed(), repo.ID) {
			t.Errorf("counts as %v", k)
		}
		w.want(w.fetch(p, repo), policy.Accept)
		w.want(w.fetch(p, gone), policy.Expired)
		if !slices.Contains(claimed(), gone.ID) || w.known(gone).State != store.Remembered {
			t.Error("what has expired is not remembered")
		}
		time.Sleep(19 * time.Hour) // any resync until it expires will do
		w.want(w.fetch(p, later), policy.Accept)
	})
}
