package relaysync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// denied are lists on which these authors are denied.
func denied(t *testing.T, keys ...nostr.SecretKey) (l policy.Lists) {
	t.Helper()
	for _, k := range keys {
		if err := l.DenyPubKeys.AddAuthor(k.PubKey().String()); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// What is denied is not asked for any more and its relays are let go; what was refused before and is allowed now is asked
// for at once, of relays with and without NIP-77, also what only comments lead to.
func TestListsThatChange(t *testing.T) {
	for name, neg := range map[string]testkit.NegMode{"negentropy": testkit.NegWorks, "paging": testkit.NegNotice, "as a whole": testkit.NegWorks} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				if name == "as a whole" {
					w.adjust = func(c *relaysync.Config) { c.Peer.WholeFrom = 1 }
				}
				boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
				boot.Neg, other.Neg = neg, neg
				owner, spammer, helper := testkit.Key(1), testkit.Key(5), testkit.Key(6)
				now := time.Now().Unix()
				good := testkit.Announcement(owner, now-600, "good", ours, bootURL)
				bad := testkit.Announcement(spammer, now-600, "bad", ours, otherURL)
				issue := testkit.Issue(helper, now-500, testkit.RepositoryAddress(owner, "good"), "bug")
				spam := testkit.Issue(spammer, now-400, testkit.RepositoryAddress(owner, "good"), "spam")
				answer := testkit.Comment(spammer, now-300, testkit.Comment(helper, now-350, issue, "look"), "answer to a comment")
				inBad := testkit.Issue(helper, now-300, testkit.RepositoryAddress(spammer, "bad"), "in bad")
				boot.Store(good, bad, issue, spam, answer, testkit.Comment(helper, now-350, issue, "look"))
				other.Store(bad, inBad)
				w.lists = denied(t, spammer)
				w.start()
				defer w.stop()
				w.settle()
				wait(5 * time.Minute)
				w.wantStored(good, issue)
				w.wantAbsent(bad, spam, inBad, answer)
				if other.Dials() != 0 {
					t.Error("the relay of a denied repository is dialed")
				}

				w.list(policy.Lists{})
				wait(5 * time.Minute)
				w.wantStored(good, issue, bad, spam, inBad, answer)

				w.list(denied(t, spammer))
				wait(3 * time.Minute)
				if _, ok := w.status(otherURL); ok {
					t.Error("the relay of a denied repository is not let go")
				}
				later := testkit.Issue(spammer, time.Now().Unix(), testkit.RepositoryAddress(owner, "good"), "more spam")
				boot.Store(later)
				wait(time.Minute)
				w.wantAbsent(later)
				w.wantStored(good, issue, bad, spam, inBad) // what is here stays
				for _, s := range w.engine.Relays(t.Context()) {
					if s.Counters.Gaps != 0 {
						t.Errorf("%s: %d gaps", s.URL, s.Counters.Gaps)
					}
				}
			})
		})
	}
}

// A line more on a deny list makes no relay be asked anything again.
func TestAStricterListAsksNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Store(testkit.Announcement(testkit.Key(1), time.Now().Unix()-600, "good", ours, bootURL))
		w.start()
		defer w.stop()
		w.settle()
		before := len(boot.Frames())
		w.list(denied(t, testkit.Key(5)))
		wait(5 * time.Minute)
		for _, f := range boot.Frames()[before:] {
			if strings.HasPrefix(f, `["REQ"`) || strings.HasPrefix(f, `["NEG-OPEN"`) {
				t.Errorf("asked %.200s", f)
			}
		}
	})
}

// TestListsThatChangeBeforeTheEngineFollows: nobody waits for the engine, and it follows by the newest lists.
func TestListsThatChangeBeforeTheEngineFollows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.adjust = func(c *relaysync.Config) { c.StartupDelay = time.Hour }
		first, second := testkit.Announcement(testkit.Key(1), time.Now().Unix()-600, "one", ours, bootURL), testkit.Announcement(testkit.Key(5), time.Now().Unix()-600, "two", ours, bootURL)
		w.net.Relay(bootURL).Store(first, second)
		w.start()
		defer w.stop()
		w.list(denied(t, testkit.Key(5)))
		w.list(denied(t, testkit.Key(1)))
		wait(2 * time.Hour)
		w.wantStored(second)
		w.wantAbsent(first)
	})
}

// TestLoosenedListsStayLoosened: the engine has yet to take lists that admit more when stricter ones come.
func TestLoosenedListsStayLoosened(t *testing.T) {
	e := relaysync.New(relaysync.Config{})
	e.SetLists(policy.Lists{}, true)
	e.SetLists(denied(t, testkit.Key(5)), false)
	if l, looser := e.TakeLists(); !looser || len(l.DenyPubKeys) != 1 {
		t.Errorf("%+v, looser %v", l, looser)
	}
}
