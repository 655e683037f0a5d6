package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	bootURL  = "wss://boot.example.net"
	otherURL = "wss://other.example.net"
)

// project is one repository with issues and comments on them.
type project struct {
	ann      *nostr.Event
	address  string
	issues   []*nostr.Event
	comments []*nostr.Event
}

// newProject makes a repository that lists this relay and others, with n issues
// of one comment each, spread over the last hours.
func newProject(d string, n int, relays ...string) project {
	owner, author := testkit.Key(1), testkit.Key(2)
	now := time.Now().Unix()
	p := project{
		ann:     testkit.Announcement(owner, now-86_400, d, append([]string{ours, bootURL}, relays...)...),
		address: testkit.RepositoryAddress(owner, d),
	}
	for i := range n {
		at := now - 80_000 + int64(i)*60
		issue := testkit.Issue(author, at, p.address, fmt.Sprintf("issue %d of %s", i, d))
		p.issues = append(p.issues, issue)
		p.comments = append(p.comments, testkit.Comment(author, at+30, issue, "me too"))
	}
	return p
}

// settledWorld is one that has filled itself from its bootstrap relay with a project of n issues. Whoever asks for it stops it.
func settledWorld(t *testing.T, n int) (w *world, boot *testkit.FakeRelay, p project) {
	t.Helper()
	w = newWorld(t, bootURL)
	boot = w.net.Relay(bootURL)
	p = newProject("proj", n)
	boot.Store(p.all()...)
	w.start()
	w.settle()
	return w, boot, p
}

func (p project) all() []*nostr.Event {
	return append(append([]*nostr.Event{p.ann}, p.issues...), p.comments...)
}

// later makes an issue of now.
func (p project) later(text string) *nostr.Event {
	return testkit.Issue(testkit.Key(2), time.Now().Unix(), p.address, text)
}

func TestRelaysThatCapTheirPagesAreReadCompletely(t *testing.T) {
	for _, oldest := range []bool{false, true} {
		for _, capped := range []int{20, 7} {
			t.Run(fmt.Sprintf("cap %d, oldest first %v", capped, oldest), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := newWorld(t, bootURL)
					boot := w.net.Relay(bootURL)
					boot.Neg, boot.PageCap, boot.Oldest = testkit.NegNotice, capped, oldest
					p := newProject("proj", 130)
					boot.Store(p.all()...)
					w.start()
					defer w.stop()
					w.settle()
					w.wantStored(p.all()...)
				})
			})
		}
	}
}

// A relay that does not know NIP-77 complains about each of its messages. That is about nothing else, and holds nothing up.
func TestRelayThatDoesNotKnowNIP77IsReadAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Neg, boot.PageCap = testkit.NegUnknown, 20
		p := newProject("proj", 30)
		all := p.all()
		for i := range 30 {
			all = append(all, testkit.Announcement(testkit.Key(1), p.ann.CreatedAt+1+int64(i), fmt.Sprint("proj", i), ours, bootURL))
		}
		boot.Store(all...)
		w.start()
		defer w.stop()
		wait(25 * time.Second)
		w.wantStored(all...)
	})
}

// An owner who edits a repository twice within a minute waits for the second edit to be worked; nobody else does.
func TestOneOwnersEditsDelayNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		one, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
		w.start()
		defer w.stop()
		now := time.Now().Unix()
		restless, editor := testkit.Key(7), testkit.Key(8)
		edit := func(at int64, more ...nostr.Tag) *nostr.Event {
			return testkit.Sign(restless, at, nip34.KindRepository, "", append(more, nostr.Tag{"d", "restless"}, nostr.Tag{"relays", ours, bootURL})...)
		}
		w.publish(edit(now - 2))
		wait(10 * time.Second)
		w.publish(edit(now-1, nostr.Tag{"maintainers", editor.PubKey().String()}))
		wait(10 * time.Second)
		p := newProject("proj", 1, otherURL)
		other.Store(p.issues...)
		w.publish(p.ann)
		wait(10 * time.Second)
		w.wantStored(p.issues...)
		byEditor := testkit.Sign(editor, now, nip34.KindRepository, "", nostr.Tag{"d", "restless"}, nostr.Tag{"relays", bootURL},
			nostr.Tag{"maintainers", restless.PubKey().String()})
		about := testkit.Issue(testkit.Key(9), now, testkit.RepositoryAddress(editor, "restless"), "late")
		one.Store(byEditor, about)
		w.publish(byEditor)
		wait(3 * time.Minute)
		w.wantStored(about)
	})
}

// A store that many relays use looks tag values up without their name, and takes what begins alike for the same: a question for A
// brings everything that has the value in a. Nothing is lost by that, and the relay is not taken for a flooder.
func TestRelayThatTakesTagNamesLoosely(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		t.Run(fmt.Sprintf("mode %d", neg), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot := w.net.Relay(bootURL)
				boot.Neg, boot.PageCap, boot.Loose = neg, 50, true
				p, longer := newProject("proj", 300), newProject("proj-ect", 40)
				now := time.Now().Unix()
				onRepository := testkit.Sign(testkit.Key(4), now-85_000, nostr.KindComment, "fine", nostr.Tag{"A", p.address}, nostr.Tag{"K", "30617"})
				boot.Store(append(append(p.all(), longer.issues...), onRepository)...) // the longer one is nowhere announced
				w.start()
				defer w.stop()
				w.settle()
				w.wantStored(append(p.all(), onRepository)...)
				w.wantAbsent(longer.issues...)
				if s, _ := w.status(bootURL); neg == testkit.NegWorks && s.Negentropy != "works" {
					t.Errorf("negentropy %s", s.Negentropy)
				}
				if n, frames := boot.Dials(), len(boot.Frames()); n != 1 || frames > 600 {
					t.Errorf("connected %d times, %d frames", n, frames)
				}
			})
		})
	}
}

func TestRestartFetchesNothingAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 40)
		foreign := testkit.Announcement(testkit.Key(3), time.Now().Unix()-5, "x", "wss://elsewhere.example.com")
		boot.Store(append(p.all(), foreign)...)
		w.start()
		w.settle()
		w.wantStored(p.all()...)
		w.stop()
		before := boot.Sent()
		w.start()
		defer w.stop()
		w.settle()
		if n := boot.Sent() - before; n != 0 {
			t.Errorf("%d events were sent again after a restart", n)
		}
	})
}

func TestRestartWithoutNegentropyStoresNothingAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Neg = testkit.NegErr
		p := newProject("proj", 40)
		boot.Store(p.all()...)
		w.start()
		w.settle()
		head := w.store.Head()
		w.stop()
		w.start()
		defer w.stop()
		w.settle()
		if w.store.Head() != head {
			t.Errorf("head went from %d to %d", head, w.store.Head())
		}
	})
}

func TestQuickReconnectBringsWhatWasMissedAndNotHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 60)
		defer w.stop()
		wait(3 * time.Hour)
		boot.RefuseDial.Store(true)
		boot.Drop()
		wait(2 * time.Minute)
		missed := p.later("while away")
		reply := testkit.Comment(testkit.Key(3), time.Now().Unix(), p.issues[0], "late to an old issue")
		boot.Store(missed, reply)
		before := boot.Sent()
		boot.RefuseDial.Store(false)
		wait(8 * time.Minute)
		w.settle()
		w.wantStored(missed, reply)
		// Each filter that matches shows it, some twice by the inclusive pages; history would be over a hundred.
		if n := boot.Sent() - before; n > 30 {
			t.Errorf("%d events were sent after a quick reconnect", n)
		}
		for _, f := range boot.Frames() {
			if strings.HasPrefix(f, `["REQ","l`) && strings.Contains(f, "since") {
				t.Errorf("a live REQ with since: %s", f)
			}
		}
	})
}

func TestStaleReconnectComparesEverythingAndMovesWhatIsMissing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 30)
		defer w.stop()
		boot.RefuseDial.Store(true)
		boot.Drop()
		wait(time.Hour)
		backdated := testkit.Comment(testkit.Key(3), time.Now().Unix()-70_000, p.issues[3], "backdated while away")
		boot.Store(backdated)
		before := boot.Sent()
		boot.RefuseDial.Store(false)
		wait(90 * time.Minute)
		w.settle()
		w.wantStored(backdated)
		if n := boot.Sent() - before; n > 2 {
			t.Errorf("%d events were sent for one that was missing", n)
		}
	})
}

func TestDailyResyncFindsWhatLiveMissed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 5)
		defer w.stop()
		missed := p.later("never shown live")
		boot.Store(missed)
		wait(time.Hour)
		w.wantAbsent(missed)
		before := boot.Sent()
		wait(26 * time.Hour)
		w.wantStored(missed)
		if n := boot.Sent() - before; n > 2 {
			t.Errorf("the resync moved %d events for one that was missing", n)
		}
	})
}

func TestRefusedEventsAreFetchedAgainWhenTheReasonEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		owner, helper := testkit.Key(1), testkit.Key(5)
		now := time.Now().Unix()
		// The maintainer's announcement comes first and lists another relay only.
		theirs := testkit.Announcement(helper, now-500, "proj", "wss://elsewhere.example.com")
		boot.Store(theirs)
		w.start()
		w.settle()
		w.wantAbsent(theirs)
		w.stop()
		w.start() // the orphan buffer is gone, what was refused is remembered
		defer w.stop()
		w.settle()
		w.wantAbsent(theirs)
		ann := testkit.Sign(owner, now-100, 30617, "", nostr.Tag{"d", "proj"}, nostr.Tag{"relays", ours, bootURL},
			nostr.Tag{"maintainers", helper.PubKey().String()})
		if v := w.publish(ann); !v.OK() {
			t.Fatalf("announcement: %+v", v)
		}
		wait(time.Minute)
		w.settle()
		w.wantStored(ann, theirs)
	})
}

func TestAnnouncementsLeadToMoreRelays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
		p := newProject("proj", 3, otherURL)
		boot.Store(p.ann)
		other.Store(p.issues...)
		other.Store(p.comments...)
		w.start()
		defer w.stop()
		wait(10 * time.Second)
		w.settle()
		w.wantStored(p.all()...)
	})
}

func TestTheWantShrinks(t *testing.T) {
	for name, end := range map[string]func(p project) *nostr.Event{
		"relay dropped": func(p project) *nostr.Event {
			return testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", ours, bootURL)
		},
		"not here any more": func(p project) *nostr.Event {
			return testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", bootURL, otherURL)
		},
		"deleted": func(p project) *nostr.Event {
			return testkit.Sign(testkit.Key(1), time.Now().Unix(), nostr.KindDeletion, "", nostr.Tag{"a", p.address})
		},
		"vanished": func(p project) *nostr.Event {
			return testkit.Sign(testkit.Key(1), time.Now().Unix(), nostr.KindVanish, "", nostr.Tag{"relay", ours})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
				p := newProject("proj", 3, otherURL)
				boot.Store(p.ann)
				other.Store(p.all()...)
				w.start()
				defer w.stop()
				wait(10 * time.Second)
				w.settle()
				if other.Open() == 0 {
					t.Fatal("the other relay is not followed")
				}
				w.publish(end(p))
				wait(2 * time.Minute)
				if _, ok := w.status(otherURL); ok || other.Open() != 0 {
					t.Errorf("the other relay still has %d subscriptions", other.Open())
				}
				if _, ok := w.status(bootURL); !ok {
					t.Error("the bootstrap relay was let go")
				}
			})
		})
	}
}

func TestAWithdrawnRepositoryStaysGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 1)
		boot.Store(p.ann) // and it keeps offering it
		w.start()
		w.settle()
		gone := testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", bootURL)
		if v := w.publish(gone); v.Outcome != policy.Withdraw {
			t.Fatalf("%+v", v)
		}
		wait(30 * time.Hour)
		w.wantAbsent(p.ann, gone)
		w.stop()
		w.start()
		defer w.stop()
		w.settle()
		w.wantAbsent(p.ann, gone)
	})
}

func TestOwnURLIsNeverDialed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot, self := w.net.Relay(bootURL), w.net.Relay(ours)
		boot.Store(newProject("proj", 1, ours+"/", "wss://RELAY.example.org:443").all()...)
		w.start()
		defer w.stop()
		wait(time.Hour)
		if self.Dials() != 0 {
			t.Errorf("dialed %d times", self.Dials())
		}
	})
}

func TestBadRelaysDoNotDelayTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		silent, mute, refusing, slow := w.net.Relay("wss://silent.example.net"), w.net.Relay("wss://mute.example.net"),
			w.net.Relay("wss://refusing.example.net"), w.net.Relay("wss://slow.example.net")
		silent.Silent.Store(true)
		mute.NoEOSE.Store(true)
		mute.Neg = testkit.NegSilent
		refusing.RefuseDial.Store(true)
		slow.Refuse = func(sub string, _ []nostr.Filter) string {
			return string(nostr.AppendClosed(nil, sub, "rate-limited: slow down"))
		}
		p := newProject("proj", 10, "wss://silent.example.net", "wss://mute.example.net", "wss://refusing.example.net",
			"wss://slow.example.net", "wss://nowhere.example.net", otherURL)
		other := w.net.Relay(otherURL)
		boot.Store(p.ann)
		other.Store(p.issues...)
		other.Store(p.comments...)
		w.start()
		defer w.stop()
		wait(20 * time.Second)
		w.wantStored(p.all()...)
		live := p.later("live")
		other.Add(live)
		wait(time.Second)
		w.wantStored(live)
	})
}

func TestAForgedCopyDoesNotKeepTheGenuineOneOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
		p := newProject("proj", 1, otherURL)
		genuine := p.issues[0]
		forged := *genuine
		forged.Content = "something else"
		boot.Store(p.ann, reparse(t, &forged))
		other.Store(genuine)
		other.RefuseDial.Store(true)
		w.start()
		defer w.stop()
		wait(30 * time.Second)
		w.wantAbsent(genuine)
		other.RefuseDial.Store(false)
		wait(10 * time.Minute)
		w.wantStored(genuine)
		v := w.store.View()
		defer v.Close()
		if e, ok, _ := v.Get(genuine.ID); ok && e.Content != genuine.Content {
			t.Error("the forged body was stored")
		}
	})
}

// reparse gives an event that was changed by hand the bytes it would be sent as.
func reparse(t *testing.T, e *nostr.Event) *nostr.Event {
	t.Helper()
	b := []byte(fmt.Sprintf(`{"id":%q,"pubkey":%q,"created_at":%d,"kind":%d,"tags":[["a",%q]],"content":%q,"sig":%q}`,
		e.ID, e.PubKey, e.CreatedAt, e.Kind, e.Tags[0][1], e.Content, e.Sig))
	out, err := nostr.ParseEvent(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBackdatedEventsArriveLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 1)
		defer w.stop()
		old := testkit.Issue(testkit.Key(2), time.Now().Unix()-40*86_400, p.address, "backdated")
		boot.Add(old)
		wait(time.Second)
		w.wantStored(old)
	})
}

func TestABootstrapRelayThatFailsAtFirstIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.RefuseDial.Store(true)
		p := newProject("proj", 2)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		wait(time.Minute)
		if n := boot.Dials(); n < 2 || n > 8 {
			t.Errorf("dialed %d times in a minute", n)
		}
		boot.RefuseDial.Store(false)
		wait(5 * time.Minute)
		w.wantStored(p.all()...)
	})
}

// TestShortMessages: whatever size a relay tells from 4 KiB on is kept, and where it tells none, messages are halved until they are borne.
func TestShortMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	for _, most := range []int{4 << 10, 5000, 16384, 31_000} {
		for name, tell := range map[string]func(*testkit.FakeRelay){
			"told": func(f *testkit.FakeRelay) {
				f.Info = &nip11.Document{Limitation: nip11.Limitation{MaxMessageLength: most}}
				f.MaxMessage = most
			},
			"learned":                     func(f *testkit.FakeRelay) { f.CloseOver = most },
			"learned, without negentropy": func(f *testkit.FakeRelay) { f.CloseOver, f.Neg = most, testkit.NegClosed },
			"told, without negentropy": func(f *testkit.FakeRelay) {
				f.Info = &nip11.Document{Limitation: nip11.Limitation{MaxMessageLength: most}}
				f.MaxMessage, f.Neg = most, testkit.NegClosed
			},
		} {
			t.Run(fmt.Sprint(most, " ", name), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := newWorld(t, bootURL)
					boot := w.net.Relay(bootURL)
					tell(boot)
					p := newProject("proj", 700)
					boot.Store(p.all()...)
					for n := range 60 {
						boot.Store(newProject(fmt.Sprintf("a-rather-long-name-of-a-repository-%d", n), 2).all()...)
					}
					w.start()
					defer w.stop()
					wait(10 * time.Minute)
					w.wantStored(p.all()...)
					s, _ := w.status(bootURL)
					if boot.Dials() > 7 || !s.Connected || boot.MaxMessage > 0 && boot.Dials() > 1 || boot.Neg == testkit.NegWorks && s.Negentropy != "works" {
						t.Errorf("dialed %d times: %+v", boot.Dials(), s)
					}
					e := p.later("one more")
					boot.Add(e)
					wait(time.Second)
					w.wantStored(e)
				})
			})
		}
	}
}

func TestManyRootsStayWithinTheRelaysLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.MaxSubs, boot.MaxFilters, boot.MaxMessage = 19, 10, 128<<10
		p := newProject("proj", 700)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(p.all()...)
		for i := range 60 { // each in a window of its own
			e := p.later(fmt.Sprintf("one more %d", i))
			boot.Add(e)
			wait(30 * time.Second)
			c := testkit.Comment(testkit.Key(4), time.Now().Unix(), e, "seen live")
			boot.Add(c)
			wait(time.Second)
			w.wantStored(e, c)
		}
		s, _ := w.status(bootURL)
		if s.LiveREQs > 16 {
			t.Errorf("%d live REQs", s.LiveREQs)
		}
	})
}

func TestStopsInTheMiddleOfACatchUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 300)
		boot.Store(p.all()...)
		w.start()
		time.Sleep(3 * time.Millisecond)
		begun := time.Now()
		w.stop()
		if d := time.Since(begun); d > 10*time.Second {
			t.Errorf("took %v to stop", d)
		}
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(p.all()...)
	})
}

// TestDeadRelaysYieldTheirSlots has one stranger name more black holes than
// there are slots: what others want is connected all the same.
func TestDeadRelaysYieldTheirSlots(t *testing.T) {
	for owners := 1; owners <= 3; owners += 2 {
		t.Run(fmt.Sprintf("wanted by %d", owners), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.adjust = func(c *relaysync.Config) { c.MaxRelays = 2 }
				other := w.net.Relay(otherURL)
				w.start()
				defer w.stop()
				now := time.Now().Unix()
				w.publish(testkit.Announcement(testkit.Key(66), now-10, "spam", ours, "wss://hole1.example.com", "wss://hole2.example.com"))
				wait(10 * time.Minute)
				var issues []*nostr.Event
				for i := range owners {
					key := testkit.Key(i)
					w.publish(testkit.Announcement(key, now, "proj", ours, otherURL))
					issues = append(issues, testkit.Issue(testkit.Key(2), now, testkit.RepositoryAddress(key, "proj"), "hello"))
				}
				other.Store(issues...)
				wait(20 * time.Minute)
				w.wantStored(issues...)
				if s, ok := w.status(otherURL); !ok || s.Phase != "live" {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
