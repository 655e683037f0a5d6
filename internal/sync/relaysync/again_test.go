package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// What was refused only because its author was no maintainer is asked for again
// once he is one, without a restart and without the daily resync; also by a relay
// without NIP-77.
func TestANewMaintainersEventsAreAskedForAgain(t *testing.T) {
	for name, neg := range map[string]testkit.NegMode{"negentropy": testkit.NegWorks, "paging": testkit.NegNotice} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot := w.net.Relay(bootURL)
				boot.Neg = neg
				owner, helper, third := testkit.Key(1), testkit.Key(5), testkit.Key(6)
				now := time.Now().Unix()
				announce := func(by nostr.SecretKey, at int64, relays []string, maintainers ...nostr.SecretKey) *nostr.Event {
					tag := nostr.Tag{"maintainers"}
					for _, m := range maintainers {
						tag = append(tag, m.PubKey().String())
					}
					return testkit.Sign(by, at, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, append(nostr.Tag{"relays"}, relays...), tag)
				}
				state := func(by nostr.SecretKey, at int64) *nostr.Event {
					return testkit.Sign(by, at, nip34.KindState, "", nostr.Tag{"d", "proj"}, nostr.Tag{"refs/heads/main", strings.Repeat("a", 40)})
				}
				issue := testkit.Issue(testkit.Key(9), now-300, testkit.RepositoryAddress(helper, "proj"), "at the helper's")
				theirs, thirds := announce(helper, now-500, []string{bootURL}, owner, third), announce(third, now-500, []string{bootURL}, helper)
				refused := []*nostr.Event{theirs, thirds, state(helper, now-400), state(third, now-400), issue}
				boot.Store(append(refused, announce(owner, now-600, []string{ours, bootURL}))...)
				w.start()
				defer w.stop()
				w.settle()
				wait(time.Hour)
				w.wantAbsent(refused...)
				w.publish(announce(owner, now+3600, []string{ours, bootURL}, helper))
				wait(4 * time.Minute)
				w.wantStored(refused...)
				if s, _ := w.status(bootURL); s.Phase != "live" {
					t.Errorf("phase %s", s.Phase)
				}
			})
		})
	}
}

// An owner who edits a repository all the time makes no relay be asked all the time.
func TestARestlessOwnerIsFollowedOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		other := w.net.Relay(otherURL)
		w.start()
		defer w.stop()
		owner := testkit.Key(1)
		edit := func(n int) {
			at := time.Now().Unix()
			w.publish(testkit.Sign(owner, at, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, nostr.Tag{"relays", ours, otherURL},
				nostr.Tag{"maintainers", testkit.Key(100 + n).PubKey().String()}))
		}
		edit(0)
		wait(5 * time.Minute)
		before := len(other.Frames())
		for n := range 120 {
			edit(n + 1)
			wait(5 * time.Second)
		}
		asked := 0
		for _, f := range other.Frames()[before:] {
			if strings.HasPrefix(f, `["NEG-OPEN"`) && strings.Contains(f, `"#d":["proj"]`) {
				asked++
			}
		}
		if asked < 9 || asked > 12 {
			t.Errorf("asked %d times in ten minutes: %s", asked, fmt.Sprint(len(other.Frames())-before, " frames"))
		}
	})
}
