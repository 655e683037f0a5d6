package moderator_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
)

// TestTheAllowListTakesSomebodyIn: whom a decision allows may publish beside those of the settings, also after a restart, until another
// decision takes them out; a ban of theirs is lifted.
func TestTheAllowListTakesSomebodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lists.AllowPubKeys = policy.PubKeys{key("alice"): {}}
		w.start(true)
		w.must(announcement("alice", "d"))
		if v := w.publish(announcement("bob", "one")); v.OK() {
			t.Error("a stranger's is taken")
		}
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", "a friend"); err != nil {
			t.Fatal(err)
		}
		bobs := announcement("bob", "two")
		w.must(bobs)
		w.start(true)
		w.must(announcement("bob", "three"))
		list := w.mod.Allowed()
		if len(list) != 2 || !slices.ContainsFunc(list, func(x moderation.Allowed) bool {
			return x.PubKey == key("bob") && x.By == "a test" && x.Why == "a friend"
		}) {
			t.Errorf("%+v", list)
		}
		w.settled(w.bar(moderation.Of(key("bob"))).N)
		w.here("banned", false, bobs)
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Fatal(err)
		}
		w.until("what is allowed again is back", func() bool { return w.has(bobs) })
		listed := w.lists
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{})); err != nil {
			t.Fatal(err)
		}
		w.must(announcement("carol", "free for all"))
		if err := w.mod.SetRules(t.Context(), w.rules(listed)); err != nil {
			t.Fatal(err)
		}
		if was, err := w.mod.Disallow(t.Context(), key("bob"), "a test", "no friend"); !was || err != nil {
			t.Errorf("%v %v", was, err)
		}
		if was, err := w.mod.Disallow(t.Context(), key("bob"), "a test", ""); was || err != nil {
			t.Errorf("%v %v", was, err)
		}
		if _, err := w.mod.Disallow(t.Context(), key("alice"), "a test", ""); !errors.Is(err, moderator.ErrAllowed) {
			t.Error(err)
		}
		if v := w.publish(announcement("bob", "four")); v.OK() {
			t.Error("whom nobody allows any more is taken")
		}
		w.start(true)
		if v := w.publish(announcement("bob", "four")); v.OK() {
			t.Error("whom nobody allows any more is taken after a restart")
		}
		if did := w.journal(); !slices.Equal(did, []string{moderation.Admitted, moderation.Deleted, moderation.Restored, moderation.Excluded}) {
			t.Errorf("%q", did)
		}
	})
}

// TestWithoutAnAllowListEverybodyIsAllowed: no decision makes a list of one, which would shut out all others.
func TestWithoutAnAllowListEverybodyIsAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(true)
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); !errors.Is(err, moderator.ErrNoAllowList) {
			t.Error(err)
		}
		w.settled(w.bar(moderation.Of(key("bob"))).N)
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Error(err)
		}
		w.must(announcement("alice", "d"), announcement("bob", "d"))
		if list := w.mod.Allowed(); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

// TestADecisionThatIsNotInForceYet: who asks again after a decision could not be put in force has it put in force.
func TestADecisionThatIsNotInForceYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lists.AllowPubKeys = policy.PubKeys{key("alice"): {}}
		w.start(true)
		w.fails = errors.New("not now")
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); !errors.Is(err, w.fails) {
			t.Error(err)
		}
		w.fails = nil
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Error(err)
		}
		w.must(announcement("bob", "one"))
		w.fails = errors.New("not now")
		if _, err := w.mod.Disallow(t.Context(), key("bob"), "a test", ""); !errors.Is(err, w.fails) {
			t.Error(err)
		}
		w.fails = nil
		if was, err := w.mod.Disallow(t.Context(), key("bob"), "a test", ""); was || err != nil {
			t.Errorf("%v %v", was, err)
		}
		if v := w.publish(announcement("bob", "two")); v.OK() {
			t.Error("whom nobody allows any more is taken")
		}
		for _, barred := range []bool{true, false} {
			decide := func() (err error) {
				if barred {
					_, err = w.mod.Bar(t.Context(), moderation.Order{Subject: moderation.Of(key("alice")), By: "a test"})
				} else {
					_, err = w.mod.LiftSubject(t.Context(), moderation.Of(key("alice")), "a test", "")
				}
				return err
			}
			w.fails = errors.New("not now")
			if err := decide(); !errors.Is(err, w.fails) {
				t.Error(err)
			}
			w.fails = nil
			if err := decide(); err != nil {
				t.Error(err)
			}
			if v := w.publish(announcement("alice", "two")); v.OK() == barred {
				t.Errorf("barred %v, and taken %v", barred, v.OK())
			}
		}
	})
}

// TestWhoIsAllowedTwice: an author whom the settings come to allow stays allowed when the decision is taken back, and whoever does that hears so.
func TestWhoIsAllowedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lists.AllowPubKeys = policy.PubKeys{key("alice"): {}}
		w.start(true)
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Fatal(err)
		}
		both := policy.Lists{AllowPubKeys: policy.PubKeys{key("alice"): {}, key("bob"): {}}}
		if err := w.mod.SetRules(t.Context(), w.rules(both)); err != nil {
			t.Fatal(err)
		}
		if was, err := w.mod.Disallow(t.Context(), key("bob"), "a test", ""); !was || !errors.Is(err, moderator.ErrAllowed) {
			t.Errorf("%v %v", was, err)
		}
		w.must(announcement("bob", "one"))
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{AllowPubKeys: policy.PubKeys{key("alice"): {}}})); err != nil {
			t.Fatal(err)
		}
		if v := w.publish(announcement("bob", "two")); v.OK() {
			t.Error("whom nobody allows any more is taken")
		}
		// The settings may deny whom a decision allows: denied is denied.
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Fatal(err)
		}
		if err := w.mod.SetRules(t.Context(), w.rules(policy.Lists{AllowPubKeys: policy.PubKeys{key("alice"): {}}, DenyPubKeys: policy.PubKeys{key("bob"): {}}})); err != nil {
			t.Fatal(err)
		}
		if v := w.publish(announcement("bob", "three")); v.OK() {
			t.Error("whom the settings deny is taken")
		}
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); !errors.Is(err, moderator.ErrListed) {
			t.Error(err)
		}
	})
}

// TestAFullAllowListTakesNobodyIn: it lifts no ban either, and takes somebody in once another has gone.
func TestAFullAllowListTakesNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lists.AllowPubKeys = policy.PubKeys{key("alice"): {}}
		w.start(true)
		bobs := announcement("bob", "one")
		w.settled(w.bar(moderation.Of(key("bob"))).N)
		w.stop()
		s, err := store.Open(store.Options{Dir: "data", FS: w.fs, Now: func() time.Time { return time.Unix(w.now.Load(), 0) }})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin()
		for i := 0; i < moderation.MaxAllowed && err == nil; i++ {
			x := moderation.Allowed{PubKey: key(fmt.Sprint("friend ", i))}
			err = b.SetRow("allowed/"+x.PubKey.String(), moderation.Encode(x))
		}
		if err == nil {
			_, err = b.Commit()
		}
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		w.start(true)
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); !errors.Is(err, moderator.ErrManyAllowed) {
			t.Errorf("beyond the bound: %v", err)
		}
		if _, banned := w.door.Rules().Lists.DenyPubKeys[key("bob")]; !banned || w.publish(bobs).OK() {
			t.Error("the ban is gone")
		}
		if was, err := w.mod.Disallow(t.Context(), key("friend 7"), "a test", ""); !was || err != nil {
			t.Fatalf("%v %v", was, err)
		}
		if err := w.mod.Allow(t.Context(), key("bob"), "a test", ""); err != nil {
			t.Error(err)
		}
		w.must(bobs)
	})
}
