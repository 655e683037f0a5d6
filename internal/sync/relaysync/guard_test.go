package relaysync_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// guard trusts all relays or none, and notes what it is told.
type guard struct {
	mu     sync.Mutex
	trusts bool
	met    int
	owners []nostr.PubKey // of the repositories that named the relay at last
}

func (g *guard) Met(_ grasp.RelayURL, _ nip11.Document, owners []nostr.PubKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.met++
	g.owners = owners
}

func (g *guard) Trusts(grasp.RelayURL) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trusts && g.met > 0
}
func (g *guard) set(trusts bool) { g.mu.Lock(); defer g.mu.Unlock(); g.trusts = trusts }

// TestAPrivateRelayShowsItselfToMembersAlone: to others it signs nothing, shows them in no reconciliation what it has, and asks them
// nothing about private repositories that do not name them; what they have of others comes nevertheless.
func TestAPrivateRelayShowsItselfToMembersAlone(t *testing.T) {
	for _, trusts := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, bootURL)
			g := &guard{trusts: trusts}
			w.adjust = func(c *relaysync.Config) { c.Guard = g }
			boot := w.net.Relay(bootURL)
			boot.Neg = testkit.NegWorks
			p := newProject("proj", 30)
			boot.Store(p.all()...)
			w.start()
			defer w.stop()
			owner := testkit.Key(7)
			hidden := testkit.Sign(owner, time.Now().Unix(), nip34.KindRepository, "", nostr.Tag{"d", "hidden"}, nostr.Tag{"private", "true"}, nostr.Tag{"relays", ours})
			issue := testkit.Issue(owner, time.Now().Unix(), testkit.RepositoryAddress(owner, "hidden"), "secret")
			about := testkit.Sign(testkit.Key(8), time.Now().Unix(), nip34.KindIssue, "", nostr.Tag{"a", testkit.RepositoryAddress(owner, "hidden")}, nostr.Tag{"q", p.issues[3].ID.String()})
			answer := testkit.Comment(testkit.Key(9), time.Now().Unix(), about, "so it is")
			for _, e := range []*nostr.Event{hidden, issue, about, answer} {
				if v := w.publish(e); !v.OK() {
					t.Fatalf("%+v", v)
				}
			}
			wait(time.Minute)
			w.wantStored(p.all()...)
			boot.Drop()
			wait(25 * time.Hour)
			if owner := testkit.Key(1).PubKey(); !slices.Equal(g.owners, []nostr.PubKey{owner}) {
				t.Errorf("trusted %v: it is named by %v, not by %v", trusts, g.owners, owner)
			}
			if dials := boot.Dials(); dials != 2 {
				t.Errorf("trusted %v: %d connections", trusts, dials)
			}
			n := verbs(boot)
			if (n["NEG-OPEN"] > 0) != trusts || n["REQ"] == 0 {
				t.Errorf("trusted %v: %v", trusts, n)
			}
			secrets := []string{`"hidden"`, ":hidden", issue.ID.String(), hidden.ID.String(), owner.PubKey().String()}
			if !trusts { // what stands beside an event that it has may be of a repository that does not name it
				secrets = append(secrets, about.ID.String(), answer.ID.String(), testkit.Key(8).PubKey().String(), testkit.Key(9).PubKey().String())
			}
			for _, f := range boot.Frames() {
				for _, secret := range secrets {
					if strings.HasPrefix(f, `["REQ"`) && strings.Contains(f, secret) {
						t.Errorf("trusted %v: the relay is asked about what does not name it: %.300s", trusts, f)
					}
				}
			}
		})
	}
}

// TestAPrivateRelayAuthenticatesToMembersAlone, and to none any more whose membership has ended.
func TestAPrivateRelayAuthenticatesToMembersAlone(t *testing.T) {
	for _, trusts := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, bootURL)
			g := &guard{trusts: trusts}
			w.adjust = func(c *relaysync.Config) { c.Guard = g }
			boot := w.net.Relay(bootURL)
			boot.Auth = testkit.AuthFirst
			p := newProject("proj", 3)
			boot.Store(p.all()...)
			w.start()
			defer w.stop()
			wait(time.Minute)
			if n := len(boot.Authors()); (n > 0) != trusts || (verbs(boot)["AUTH"] > 0) != trusts {
				t.Errorf("trusted %v: authenticated %d times", trusts, n)
			}
			if !trusts {
				w.wantAbsent(p.all()...)
				return
			}
			w.wantStored(p.all()...)
			before := len(boot.Authors())
			g.set(false)
			boot.Drop()
			wait(time.Hour)
			if n := len(boot.Authors()); n != before {
				t.Errorf("authenticated %d times more to who is no member any more", n-before)
			}
		})
	}
}

// TestWhoIsNoMemberAnyMoreIsComparedWithNoMore: the connection over which it was ends when the next comparison is due.
func TestWhoIsNoMemberAnyMoreIsComparedWithNoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		g := &guard{trusts: true}
		w.adjust = func(c *relaysync.Config) { c.Guard = g }
		boot := w.net.Relay(bootURL)
		boot.Neg = testkit.NegWorks
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		wait(time.Minute)
		before := verbs(boot)
		if before["NEG-OPEN"] == 0 {
			t.Fatal("nothing was compared")
		}
		g.set(false)
		wait(30 * time.Hour)
		after := verbs(boot)
		if after["NEG-OPEN"] != before["NEG-OPEN"] || after["NEG-MSG"] != before["NEG-MSG"] || after["REQ"] == before["REQ"] {
			t.Errorf("before %v, after %v", before, after)
		}
		late := p.later("late")
		boot.Add(late)
		wait(time.Minute)
		w.wantStored(late)
	})
}

// TestAPrivateRelayAsksNoMailboxes: where participants write is no member's, and what they take part in is nobody's business there.
func TestAPrivateRelayAsksNoMailboxes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.mail = true
		w.adjust = func(c *relaysync.Config) { c.Index, c.Guard = []grasp.RelayURL{indexURL}, &guard{} }
		index, home := w.net.Relay(indexURL), w.net.Relay(homeURL)
		w.start()
		defer w.stop()
		now := time.Now().Unix()
		w.publish(testkit.Announcement(testkit.Key(1), now, "proj", ours))
		w.publish(testkit.Issue(testkit.Key(2), now, testkit.RepositoryAddress(testkit.Key(1), "proj"), "broken"))
		w.publish(relayList(2, homeURL))
		wait(26 * time.Hour)
		if n := index.Dials() + home.Dials(); n > 0 {
			t.Errorf("%d dials", n)
		}
	})
}
