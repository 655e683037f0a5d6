package moderator_test

import (
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhatPeopleCallIt stands beside a subject while it is here, and in its case and the journal afterwards.
func TestWhatPeopleCallIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		profile := event("alice", nostr.KindMetadata)
		profile.Content = `{"name":"Alice"}`
		profile.ID = profile.ComputeID()
		issue := event("bob", nip34.KindIssue, nostr.Tag{"a", address("alice", "d")}, nostr.Tag{"subject", "It breaks"})
		w.must(announcement("alice", "d", nostr.Tag{"name", "A tool"}), profile, issue)
		called := map[moderation.Subject]string{
			moderation.Of(key("alice")): "Alice", {Sort: moderation.Owner, PubKey: key("alice")}: "Alice", moderation.Of(key("bob")): "",
			subject("alice", "d"): "A tool", subject("alice", "x"): "", moderation.One(issue.ID): "issue It breaks", moderation.One(nostr.ID{1}): "",
		}
		look := func(when string) {
			t.Helper()
			for s, want := range called {
				if got := w.mod.Title(s); got != want {
					t.Errorf("%s, %s: %q, want %q", when, s, got, want)
				}
			}
		}
		look("here")
		answer := event("carol", nostr.KindComment, nostr.Tag{"E", issue.ID.String()}, nostr.Tag{"e", issue.ID.String()})
		w.must(answer)
		for id, want := range map[nostr.ID]int{issue.ID: 1, answer.ID: 1, profile.ID: 0, {9}: 0} {
			if got := w.mod.Repositories(id); len(got) != want || want == 1 && got[0].String() != address("alice", "d") {
				t.Errorf("%s is about %v", id, got)
			}
		}
		p, err := w.mod.Preview(t.Context(), subject("alice", "d"))
		if err != nil || p.Title != "A tool" {
			t.Errorf("%+v, %v", p, err)
		}
		x := w.settled(w.bar(subject("alice", "d")).N)
		called[subject("alice", "d")], called[moderation.One(issue.ID)] = "", ""
		delete(called, moderation.Of(key("alice")))
		delete(called, moderation.Subject{Sort: moderation.Owner, PubKey: key("alice")})
		look("barred")
		if x.Title != "A tool" {
			t.Errorf("the case: %q", x.Title)
		}
		if _, err := w.mod.Lift(t.Context(), x.N, "me", ""); err != nil {
			t.Fatal(err)
		}
		journal, err := w.mod.Journal(10)
		if err != nil || len(journal) != 2 || journal[0].Title != "A tool" || journal[1].Title != "A tool" {
			t.Errorf("%+v, %v", journal, err)
		}
	})
}
