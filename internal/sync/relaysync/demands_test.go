package relaysync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// verbs counts the frames that a relay was sent by their verb.
func verbs(f *testkit.FakeRelay) map[string]int {
	n := make(map[string]int)
	for _, frame := range f.Frames() {
		verb, _, _ := strings.Cut(strings.TrimPrefix(frame, `["`), `"`)
		n[verb]++
	}
	return n
}

// A relay that demands authentication gets it once per connection, with this
// relay's own key, and then all that was refused is asked again.
func TestRelaysThatDemandAUTH(t *testing.T) {
	for _, auth := range []testkit.AuthMode{testkit.AuthFirst, testkit.AuthLate, testkit.AuthNotice} {
		for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
			t.Run(fmt.Sprintf("mode %d, negentropy %d", auth, neg), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := newWorld(t, bootURL)
					boot := w.net.Relay(bootURL)
					boot.Auth, boot.Neg = auth, neg
					p := newProject("proj", 30)
					boot.Store(p.all()...)
					w.start()
					defer w.stop()
					wait(20 * time.Second)
					w.wantStored(p.all()...)
					w.settle()
					live := p.later("live")
					boot.Add(live)
					wait(time.Second)
					w.wantStored(live)
					if s, _ := w.status(bootURL); s.Failures != 0 || s.Counters.DialFailures != 0 {
						t.Errorf("%+v", s)
					}
					boot.Drop()
					wait(time.Minute)
					w.settle()
					by := boot.Authors()
					if len(by) != 2 || by[0] != testkit.Key(999).PubKey() || by[1] != by[0] {
						t.Errorf("authenticated as %v", by)
					}
				})
			})
		}
	}
}

// A relay that does not take this relay's AUTH is asked again a day later; that
// is no failure, and others go on.
func TestRelaysThatTakeNoAUTH(t *testing.T) {
	keyless := func(c *relaysync.Config) { c.Sign = nil }
	broken := func(c *relaysync.Config) { c.Sign = func(*nostr.Event) error { return errors.New("no") } }
	for name, x := range map[string]struct {
		mode   testkit.AuthMode
		adjust func(*relaysync.Config)
		auths  int
	}{
		"refused": {testkit.AuthRefused, nil, 1},
		"useless": {testkit.AuthUseless, nil, 1},
		"silent":  {testkit.AuthSilent, nil, 1},
		"no key":  {testkit.AuthFirst, keyless, 0},
		"no sign": {testkit.AuthLate, broken, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL, otherURL)
				w.adjust = x.adjust
				boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
				boot.Auth = x.mode
				p := newProject("proj", 10, otherURL)
				boot.Store(p.all()...)
				other.Store(p.all()...)
				w.start()
				defer w.stop()
				wait(time.Minute)
				w.wantStored(p.all()...)
				wait(time.Minute)
				if n := verbs(boot)["REQ"]; n == 0 || n > 6 {
					t.Errorf("%d REQs at first", n)
				}
				wait(90 * time.Minute) // and when layer 4 has asked, it is asked nothing more
				before := verbs(boot)
				wait(22 * time.Hour)
				after := verbs(boot)
				if after["REQ"] != before["REQ"] || after["NEG-OPEN"] != before["NEG-OPEN"] {
					t.Errorf("sent %v, a day later %v", before, after)
				}
				wait(3 * time.Hour)
				if again := verbs(boot); again["REQ"] == after["REQ"] || again["AUTH"] != x.auths {
					t.Errorf("after more than a day %v", again)
				}
				if s, _ := w.status(bootURL); s.Failures != 0 || s.Health != status.Healthy || !s.Connected || s.Confirmed.Roots != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// Relays that refuse filters without kinds, or answer them with nothing and say
// nothing, are asked with kinds: they are read completely and followed live.
func TestRelaysThatDemandKinds(t *testing.T) {
	for _, x := range []struct {
		kinds testkit.KindsMode
		neg   testkit.NegMode
	}{
		{testkit.KindsRefuses, testkit.NegWorks}, {testkit.KindsRefuses, testkit.NegNotice},
		{testkit.KindsFew, testkit.NegWorks}, {testkit.KindsFew, testkit.NegNotice}, {testkit.KindsEmpties, testkit.NegUnknown},
	} {
		t.Run(fmt.Sprintf("mode %d, negentropy %d", x.kinds, x.neg), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot := w.net.Relay(bootURL)
				boot.Kinds, boot.Neg = x.kinds, x.neg
				p := newProject("proj", 40)
				boot.Store(p.all()...)
				w.start()
				defer w.stop()
				w.publish(p.ann) // a relay that empties shows it to nobody who does not ask by name
				wait(15 * time.Second)
				w.wantStored(p.all()...)
				w.settle()
				before := verbs(boot)
				live := p.later("live")
				reply := testkit.Comment(testkit.Key(3), time.Now().Unix(), p.issues[7], "live")
				boot.Add(live, reply)
				wait(time.Second)
				w.wantStored(live, reply)
				wait(10 * time.Minute)
				if after := verbs(boot); after["REQ"] > before["REQ"]+12 {
					t.Errorf("sent %v, then %v", before, after)
				}
				// The next day it may have become like others.
				boot.Drop()
				missed := p.later("missed")
				boot.Store(missed)
				wait(time.Minute)
				w.wantStored(missed)
				wait(26 * time.Hour)
				w.settle()
				last := p.later("live again")
				boot.Add(last)
				wait(time.Second)
				w.wantStored(last)
			})
		})
	}
}
