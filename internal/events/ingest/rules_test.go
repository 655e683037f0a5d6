package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// denying are the rules of a world with these authors denied.
func denying(t *testing.T, authors ...int) policy.Rules {
	t.Helper()
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	r := policy.Rules{Service: service}
	for _, a := range authors {
		if err := r.Lists.DenyPubKeys.AddAuthor(key(a).String()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (w *world) setRules(r policy.Rules) {
	w.Helper()
	if err := w.door.SetRules(w.Context(), r); err != nil {
		w.Fatal(err)
	}
}

// Who is denied is refused from then on, whoever brings it; what is here of him stays, until he deletes it himself. When he
// is denied no more, what was refused is taken as if it had never been.
func TestDeniedAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, p, now := w.client(), w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		before := issue(2, repo, now, "before")
		w.want(w.publish(c, repo), policy.Accept)
		w.want(w.publish(c, before), policy.Accept)

		w.setRules(denying(t, 2))
		after := issue(2, repo, now, "after")
		w.want(w.publish(c, after), policy.Refuse)
		w.want(w.fetch(p, issue(2, repo, now, "from a relay")), policy.Refuse)
		w.want(w.publish(c, comment(3, before, now, "by another")), policy.Accept)
		w.want(w.publish(c, before), policy.Duplicate)
		if k := w.known(after); k.State != store.Remembered {
			t.Errorf("refused, and known as %v", k)
		}
		w.want(w.publish(c, deletion(2, now, before)), policy.Accept)
		if w.get(before.ID) != nil {
			t.Error("he may not delete what is his")
		}

		w.setRules(denying(t))
		if k := w.known(after); k.State != store.Unknown {
			t.Errorf("denied no more, and known as %v", k)
		}
		w.want(w.fetch(p, after), policy.Accept)
	})
}

// TestOldRefusalsAreNotRememberedByNewRules: a copy of what the old rules refused may wait for the writer while rules come that allow it, and the
// store forgets the refusal all the same.
func TestOldRefusalsAreNotRememberedByNewRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(w.client(), repo), policy.Accept)
		w.setRules(denying(t, 2))
		e := issue(2, repo, now, "refused")
		w.want(w.fetch(p, e), policy.Refuse)

		set := make(chan error, 1)
		var again <-chan policy.Verdict
		err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error {
			again = w.submit(p, e, store.Catchup)
			time.Sleep(time.Millisecond) // it is looked up
			go func() { set <- w.door.SetRules(t.Context(), denying(t)) }()
			time.Sleep(time.Minute) // the batch of this work takes nothing more
			return x.SetRow("row", []byte("value"))
		})
		if err := errors.Join(err, <-set); err != nil {
			t.Fatal(err)
		}
		w.want(<-again, policy.Refuse)
		if k := w.known(e); k.State != store.Unknown {
			t.Errorf("allowed, and known as %v", k)
		}
		w.want(w.fetch(p, e), policy.Accept)
	})
}

// over reports whether a channel is closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Who follows the rules hears of others once they are in force.
func TestWhoFollowsTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		_, first := w.door.FollowRules()
		if over(first) {
			t.Error("others are in force before there are any")
		}
		w.setRules(denying(t, 3))
		rules, second := w.door.FollowRules()
		if !over(first) || over(second) || len(rules.Lists.DenyPubKeys) != 1 {
			t.Errorf("other rules are in force, and followers hear of it: %t, %t, %v", over(first), over(second), rules.Lists.DenyPubKeys)
		}
		w.setRules(denying(t))
		if !over(second) {
			t.Error("nobody hears of the next rules")
		}
	})
}

// A denied author who vanishes vanishes.
func TestDeniedAuthorVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, now := w.client(), time.Now()
		repo := announcement(1, "tool", now)
		bug := issue(2, repo, now, "bug")
		w.want(w.publish(c, repo), policy.Accept)
		w.want(w.publish(c, bug), policy.Accept)
		w.setRules(denying(t, 2))
		w.want(w.fetch(w.peer("a"), event(2, now, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"})), policy.Accept)
		time.Sleep(time.Second)
		if w.get(bug.ID) != nil {
			t.Error("his events are still here")
		}
	})
}

// What waits in the orphan buffer is decided again when it may be taken; who is denied meanwhile is not taken when what he
// waits for comes.
func TestOrphansUnderOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		only := denying(t)
		if err := only.Lists.AllowRepositories.AddRepository(key(9).String()); err != nil {
			t.Fatal(err)
		}
		w.setRules(only)
		bug, spam := issue(2, repo, now, "bug"), issue(3, repo, now, "spam")
		for _, e := range []*nostr.Event{spam, bug, repo} {
			w.wantOrphan(w.fetch(p, e))
		}
		stricter := denying(t, 3)
		stricter.Lists.AllowRepositories = only.Lists.AllowRepositories
		w.setRules(stricter)
		w.setRules(denying(t, 3))
		time.Sleep(time.Second)
		if w.get(repo.ID) == nil || w.get(bug.ID) == nil || w.get(spam.ID) != nil {
			t.Errorf("repository %v, issue %v, spam %v", w.get(repo.ID), w.get(bug.ID), w.get(spam.ID))
		}
	})
}

// Rules that only refuse more forget nothing, so that nothing is fetched again for them.
func TestStricterRulesForgetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		w := newWorld(t, setup{fs: fs})
		defer w.end()
		spam := event(4, time.Now(), nostr.KindNote, "spam")
		w.want(w.fetch(w.peer("a"), spam), policy.Unrelated)
		w.setRules(denying(t, 2))
		w.setRules(denying(t, 2, 3))
		if k := w.known(spam); k.State != store.Remembered {
			t.Errorf("known as %v", k)
		}
		w.end()
		st, err := store.Open(store.Options{Dir: "data", FS: fs, Rules: denying(t, 3, 2).Fingerprint()})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		v := st.View()
		defer v.Close()
		if k, err := v.Known(spam.ID); err != nil || k.State != store.Remembered {
			t.Errorf("after a restart known as %v, %v", k, err)
		}
	})
}

// While clients and relays keep the door busy, the rules change at once, and every event is decided by one or the other.
func TestRulesChangeUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, now := w.client(), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		var verdicts []<-chan policy.Verdict
		for i := range 3000 {
			src := c
			if i%2 == 0 {
				src = w.peer(fmt.Sprint(i % 8))
			}
			verdicts = append(verdicts, w.submit(src, issue(2, repo, now, fmt.Sprint(i)), store.Live))
			if i == 1500 {
				w.setRules(denying(t, 2))
				w.want(w.publish(c, issue(2, repo, now, "between")), policy.Refuse)
			}
			if i == 2000 {
				w.setRules(denying(t))
				w.want(w.publish(c, issue(2, repo, now, "between")), policy.Accept)
			}
		}
		counts := map[policy.Outcome]int{}
		for _, v := range verdicts {
			counts[(<-v).Outcome]++
		}
		if counts[policy.Accept]+counts[policy.Refuse] != len(verdicts) || counts[policy.Accept] == 0 {
			t.Errorf("%v", counts)
		}
	})
}

// A change that cannot be written is none: the old rules are in force, and the caller is told.
func TestRulesThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64
		free.Store(1 << 40)
		w := newWorld(t, setup{opt: store.Options{FreeSpace: func() (uint64, error) { return free.Load(), nil }}})
		defer w.end()
		c, now := w.client(), time.Now()
		repo := announcement(1, "tool", now)
		w.want(w.publish(c, repo), policy.Accept)
		free.Store(1 << 10)
		_, changed := w.door.FollowRules()
		if err := w.door.SetRules(t.Context(), denying(t, 2)); !errors.Is(err, store.ErrFull) {
			t.Errorf("%v", err)
		}
		if over(changed) {
			t.Error("who follows the rules hears of some that are not in force")
		}
		free.Store(1 << 40)
		w.want(w.publish(c, issue(2, repo, now, "bug")), policy.Accept)
	})
}

func TestRulesOfADoorThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true})
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("gone")
		cancel(cause)
		full := func() error { return w.door.SetRules(ctx, denying(t, 2)) }
		waits := make(chan error)
		go func() { waits <- w.door.SetRules(t.Context(), denying(t, 2)) }()
		synctest.Wait()
		if err := full(); !errors.Is(err, cause) {
			t.Errorf("nobody takes them: %v", err)
		}
		w.run()
		if err := <-waits; err != nil {
			t.Errorf("when it runs: %v", err)
		}
		w.end()
		if err := w.door.SetRules(t.Context(), denying(t)); !errors.Is(err, ingest.ErrStopped) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// What was decided in the batch that is open when the rules change comes to its end: who was taken waits no more.
func TestRulesInTheMiddleOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		repo := announcement(1, "tool", now)
		bug := issue(2, repo, now, "bug")
		w.want(w.fetch(p, bug), policy.Unrelated)
		accepted := w.submit(p, repo, store.Catchup)
		synctest.Wait() // decided, and not committed
		w.setRules(denying(t, 9))
		w.want(<-accepted, policy.Accept)
		time.Sleep(5 * time.Second)
		if w.get(bug.ID) == nil || w.door.Stats().Orphans != 0 {
			t.Errorf("taken: %v, %d orphans", w.get(bug.ID) != nil, w.door.Stats().Orphans)
		}
	})
}
