package moderator_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const comment = nostr.Kind(1111)

// forum is two repositories with what people have said about them.
type forum struct {
	alice, dave                  *nostr.Event // announcements
	state, issue, answer, branch *nostr.Event // of alice's alone
	both, other                  *nostr.Event // of both, and of dave's
	own                          *nostr.Event // by alice, in dave's
	reply                        *nostr.Event // to that
}

func newForum(w *world) (f forum) {
	in := func(owner string) nostr.Tag { return nostr.Tag{"a", address(owner, "d")} }
	f.alice, f.dave = announcement("alice", "d"), announcement("dave", "d")
	f.state = event("alice", nip34.KindState, nostr.Tag{"d", "d"})
	f.issue = event("bob", nip34.KindIssue, in("alice"))
	f.answer = event("carol", comment, nostr.Tag{"E", f.issue.ID.String()})
	f.branch = event("bob", comment, nostr.Tag{"e", f.answer.ID.String()})
	f.both = event("bob", nip34.KindIssue, in("alice"), in("dave"))
	f.other = event("bob", nip34.KindIssue, in("dave"))
	f.own = event("alice", comment, nostr.Tag{"E", f.other.ID.String()})
	f.reply = event("carol", comment, nostr.Tag{"e", f.own.ID.String()})
	w.must(f.alice, f.dave, f.state, f.issue, f.answer, f.branch, f.both, f.other, f.own, f.reply)
	return f
}

func (f forum) all() []*nostr.Event {
	return []*nostr.Event{f.alice, f.dave, f.state, f.issue, f.answer, f.branch, f.both, f.other, f.own, f.reply}
}

// TestARepositoryGoesAndComesBack: with a repository everything goes that is about it alone, however far away, and nothing else; no
// copy of it is taken; a lift puts all of it back.
func TestARepositoryGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		go_, stay := []*nostr.Event{f.alice, f.state, f.issue, f.answer, f.branch}, []*nostr.Event{f.dave, f.both, f.other, f.own, f.reply}
		p, err := w.mod.Preview(t.Context(), subject("alice", "d"))
		if err != nil || p.Events[nip34.KindRepository] != 1 || p.Events[comment] != 2 || len(p.Events) != 4 ||
			!slices.Equal(p.Repositories, []string{address("alice", "d")}) || p.Bytes == 0 {
			t.Errorf("preview: %+v, %v", p, err)
		}
		w.here("after the preview", true, f.all()...)
		head := w.store.Head()
		x := w.settled(w.bar(subject("alice", "d")).N)
		if x.State != moderation.Aside || x.Total() != int64(len(go_)) || x.Bytes != p.Bytes {
			t.Errorf("%+v", x)
		}
		w.here("barred", false, go_...)
		w.here("barred", true, stay...)
		entries, _, err := w.store.Since(head, 100)
		for _, e := range entries {
			if e.Event != nil || e.Reason != store.ReasonBarred {
				t.Errorf("the feed has %+v", e)
			}
		}
		if err != nil || len(entries) != len(go_) {
			t.Errorf("the feed has %d entries, %v", len(entries), err)
		}
		for _, e := range go_ {
			if v := w.publish(e); v.Outcome == policy.Accept || v.Outcome == policy.Wait {
				t.Errorf("kind %d is taken again", e.Kind)
			}
		}
		if v := w.publish(announcement("alice", "d")); v.Outcome != policy.Refuse {
			t.Errorf("a newer announcement: %v", v.Outcome)
		}
		w.start(true) // a restart changes nothing
		w.here("after a restart", false, go_...)
		if v := w.publish(f.issue); v.OK() {
			t.Errorf("after a restart: %v", v.Outcome)
		}
		if _, err := w.mod.Lift(t.Context(), x.N, "a test", "a mistake"); err != nil {
			t.Fatal(err)
		}
		if left := w.settled(x.N); left.State != "" {
			t.Errorf("left: %+v", left)
		}
		w.here("lifted", true, f.all()...)
		w.must(announcement("alice", "d"))
		if got := w.journal(); !slices.Equal(got, []string{moderation.Deleted, moderation.Restored}) {
			t.Errorf("journal: %v", got)
		}
		if list, err := w.mod.Journal(1); err != nil || len(list) != 1 || list[0].By != "a test" || list[0].Why != "a mistake" || list[0].At == 0 {
			t.Errorf("journal: %+v, %v", list, err)
		}
	})
}

// TestAnAuthorGoes: everything of an author goes, their repositories with what is about these, and what others have said to them alone.
// A request to vanish stays in force.
func TestAnAuthorGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		x := w.settled(w.bar(moderation.Of(key("alice"))).N)
		w.here("barred", false, f.alice, f.state, f.issue, f.answer, f.branch, f.own, f.reply)
		w.here("barred", true, f.dave, f.both, f.other)
		if v := w.publish(event("alice", nip34.KindIssue, nostr.Tag{"a", address("dave", "d")})); v.Outcome != policy.Refuse {
			t.Errorf("something new: %v", v.Outcome)
		}
		if _, err := w.mod.Lift(t.Context(), x.N, "", ""); err != nil {
			t.Fatal(err)
		}
		w.settled(x.N)
		w.here("lifted", true, f.all()...)

		vanish := event("bob", nostr.KindVanish, nostr.Tag{"relay", "ALL_RELAYS"})
		w.must(vanish)
		w.until("bob has vanished", func() bool { return !w.has(f.both) })
		w.settled(w.bar(moderation.Of(key("bob"))).N)
		w.here("who has vanished", true, vanish)
	})
}

// TestAnEventGoes: one event goes with what was said to it alone, and is not taken again, though its author is welcome.
func TestAnEventGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		x := w.settled(w.bar(moderation.One(f.issue.ID)).N)
		w.here("barred", false, f.issue, f.answer, f.branch)
		w.here("barred", true, f.alice, f.state, f.both)
		if v := w.publish(f.issue); v.Outcome != policy.Refuse {
			t.Errorf("again: %v", v.Outcome)
		}
		w.must(event("bob", nip34.KindIssue, nostr.Tag{"a", address("alice", "d")}))
		if again := w.bar(moderation.One(f.issue.ID)); again.N != x.N {
			t.Errorf("barred twice: %d and %d", x.N, again.N)
		}
		if ok, err := w.mod.LiftSubject(t.Context(), moderation.One(f.issue.ID), "", ""); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		w.settled(x.N)
		w.here("lifted", true, f.all()...)
		if ok, err := w.mod.LiftSubject(t.Context(), moderation.One(f.issue.ID), "", ""); ok || err != nil {
			t.Errorf("lifted twice: %v, %v", ok, err)
		}
		if _, err := w.mod.Lift(t.Context(), 77, "", ""); !errors.Is(err, moderator.ErrNoCase) {
			t.Errorf("no such case: %v", err)
		}
	})
}

// TestWhatIsDecidedIsCarriedOutAfterARestart: nothing but the decision was durable, and it is carried out whole; the same holds in the
// middle of it, and of a lift.
func TestWhatIsDecidedIsCarriedOutAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(false)
		f := newForum(w)
		x := w.bar(subject("alice", "d"))
		w.here("decided", true, f.all()...)
		// What comes between belongs to what is going, and the moderator of before knows nothing of it.
		late := event("carol", comment, nostr.Tag{"e", f.branch.ID.String()})
		w.must(late)
		w.start(true)
		w.settled(x.N)
		w.here("after a restart", false, f.alice, f.state, f.issue, f.answer, f.branch, late)
		w.start(false)
		if _, err := w.mod.Lift(t.Context(), x.N, "", ""); err != nil {
			t.Fatal(err)
		}
		w.here("lifted", false, f.issue)
		w.start(true)
		w.settled(x.N)
		w.here("lifted, after a restart", true, append(f.all(), late)...)
	})
}

// TestWhatIsKeptIsForgottenInTime: after its time nothing can be put back, and the subject stays barred until it is lifted.
func TestWhatIsKeptIsForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		repo, err := nip34.ParseAddress(address("alice", "d"))
		if err != nil {
			t.Fatal(err)
		}
		if w.mod.KeepsData(repo) {
			t.Error("git data is kept of what is not barred")
		}
		x, err := w.mod.Bar(t.Context(), moderation.Order{Subject: subject("alice", "d"), Keep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.settled(x.N)
		if !w.mod.KeepsData(repo) {
			t.Error("git data is not kept")
		}
		w.now.Add(3601)
		w.start(true)
		w.until("forgotten", func() bool { y, _ := w.mod.Case(x.N); return y.State == moderation.Forgotten })
		v := w.store.View()
		list, err := v.Aside(x.N, 0, 10)
		v.Close()
		if len(list) != 0 || err != nil || w.mod.KeepsData(repo) {
			t.Errorf("%d events are kept, %v", len(list), err)
		}
		if v := w.publish(f.alice); v.Outcome == policy.Accept {
			t.Error("it is taken again")
		}
		if _, err := w.mod.Lift(t.Context(), x.N, "", ""); err != nil {
			t.Fatal(err)
		}
		w.settled(x.N)
		w.here("lifted", false, f.alice)
		w.must(f.alice) // from whoever has it
	})
}

// TestRulesThatDoNotComeIntoForce are not those of the next decision either.
func TestRulesThatDoNotComeIntoForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		w.fails = errors.New("not now")
		if err := w.mod.SetRules(t.Context(), w.rules(moderation.Lists([]moderation.Subject{moderation.Of(key("bob"))}))); !errors.Is(err, w.fails) {
			t.Fatal(err)
		}
		w.fails = nil
		w.settled(w.bar(moderation.Of(key("alice"))).N)
		denied := w.door.Rules().Lists.DenyPubKeys
		if _, bob := denied[key("bob")]; len(denied) != 1 || bob || w.mod.Bars(moderation.Of(key("bob"))) {
			t.Errorf("denied are %v", denied)
		}
	})
}

// TestWhatListsDenyIsServedNoMore: at the start and when they are reread; and is again when they do not deny it any more.
func TestWhatListsDenyIsServedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		deny := moderation.Lists([]moderation.Subject{subject("alice", "d"), moderation.Of(key("nobody"))})
		if err := w.mod.SetRules(t.Context(), w.rules(deny)); err != nil {
			t.Fatal(err)
		}
		w.until("the repository goes", func() bool { return !w.has(f.alice) && !w.has(f.branch) })
		w.here("denied", true, f.dave, f.both)
		cases := w.mod.Cases()
		if len(cases) != 1 || !cases[0].List {
			t.Fatalf("%+v", cases)
		}
		w.settled(cases[0].N)
		if _, err := w.mod.Lift(t.Context(), cases[0].N, "", ""); !errors.Is(err, moderator.ErrListed) {
			t.Errorf("lifted by hand: %v", err)
		}
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{})); err != nil {
			t.Fatal(err)
		}
		w.until("it comes back", func() bool { return w.has(f.alice) && w.has(f.branch) })
		w.settled(cases[0].N)
		w.lists = moderation.Lists([]moderation.Subject{{Sort: moderation.Owner, PubKey: key("alice")}})
		w.start(true)
		w.until("it goes at the start", func() bool { return !w.has(f.alice) && !w.has(f.branch) })
		w.here("the rest of the owner's", true, f.own, f.reply)
		w.lists = policy.Lists{}
		w.start(true)
		w.until("it comes back at the start", func() bool { return w.has(f.alice) && w.has(f.branch) })
	})
}

// TestADecisionOutlivesTheList: what is deleted by hand and denied by a list comes back when neither says so.
func TestADecisionOutlivesTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		deny := moderation.Lists([]moderation.Subject{subject("alice", "d")})
		if err := w.mod.SetRules(t.Context(), w.rules(deny)); err != nil {
			t.Fatal(err)
		}
		w.until("the repository goes", func() bool { return !w.has(f.alice) })
		n := w.mod.Cases()[0].N
		w.settled(n)
		if x := w.bar(subject("alice", "d")); x.N != n || x.List {
			t.Errorf("%+v", x)
		}
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{})); err != nil {
			t.Fatal(err)
		}
		if v := w.publish(f.alice); v.OK() {
			t.Error("taken, as the list says nothing any more")
		}
		if err := w.mod.SetRules(t.Context(), w.rules(deny)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.mod.Lift(t.Context(), n, "", ""); !errors.Is(err, moderator.ErrListed) {
			t.Errorf("lifted though a list denies it: %v", err)
		}
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{})); err != nil {
			t.Fatal(err)
		}
		if _, err := w.mod.Lift(t.Context(), n, "", ""); err != nil {
			t.Fatal(err)
		}
		w.settled(n)
		w.here("lifted", true, f.all()...)
	})
}

// TestWhatCannotBePutBackStays: what belongs to something else that is barred is kept, and can be put back later.
func TestWhatCannotBePutBackStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		f := newForum(w)
		first := w.settled(w.bar(moderation.One(f.issue.ID)).N)
		second := w.settled(w.bar(subject("alice", "d")).N)
		if _, err := w.mod.Lift(t.Context(), first.N, "", ""); err != nil {
			t.Fatal(err)
		}
		if x := w.settled(first.N); x.State != moderation.Left || x.Total() != 3 {
			t.Errorf("%+v", x)
		}
		w.here("lifted too early", false, f.issue, f.answer)
		for _, n := range []uint64{second.N, first.N} {
			if _, err := w.mod.Lift(t.Context(), n, "", ""); err != nil {
				t.Fatal(err)
			}
			w.settled(n)
		}
		w.here("lifted", true, f.all()...)
		if len(w.mod.Cases()) != 0 {
			t.Errorf("cases are left: %+v", w.mod.Cases())
		}
	})
}

// TestWhoIsInvitedGoesAndComesBack: an announcement that is here by an invitation alone is put aside with the one that invites.
func TestWhoIsInvitedGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		alice := announcement("alice", "d", nostr.Tag{"maintainers", key("bob").String()})
		bob := event("bob", nip34.KindRepository, nostr.Tag{"d", "d"}, nostr.Tag{"relays", "wss://elsewhere.example"})
		w.must(alice, bob)
		x := w.settled(w.bar(subject("alice", "d")).N)
		w.here("barred", false, alice, bob)
		if a, err := nip34.ParseAddress(address("bob", "d")); err != nil || !w.mod.KeepsData(a) {
			t.Errorf("bob's git data is not kept: %v", err)
		}
		if _, err := w.mod.Lift(t.Context(), x.N, "", ""); err != nil {
			t.Fatal(err)
		}
		w.settled(x.N)
		w.here("lifted", true, alice, bob)
	})
}
