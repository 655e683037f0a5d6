package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// client of an address that is one among many.
func (w *world) clientAt(address string, charge func(int)) *ingest.Source {
	return w.door.Source(ingest.SourceConfig{Label: "client", Party: address, Direct: true, Charge: charge})
}

// What is kept of announcements is what a fresh reading gives, whatever came, left, expired or failed in between.
func TestWhatIsKnownOfAnnouncementsIsWhatIsStored(t *testing.T) {
	rules := policy.Rules{Service: mustService(t)}
	for seed := range uint64(scaled(60, 15)) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			st, err := store.Open(store.Options{Dir: "data", FS: newMem()})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			known := ingest.NewAnnounced()
			now := time.Now()
			var stored []*nostr.Event
			for range 12 {
				b, err := st.Begin()
				if err != nil {
					t.Fatal(err)
				}
				for range 1 + r.IntN(8) {
					d := fmt.Sprint(r.IntN(3))
					switch {
					case r.IntN(4) == 0 && len(stored) > 0:
						e := stored[r.IntN(len(stored))]
						if err := b.Remove(e.ID, store.ReasonDeleted); err != nil {
							t.Fatal(err)
						}
						known.Changed(e.Tags.D())
					default:
						tags := []nostr.Tag{maintainers(r.IntN(6), r.IntN(6)), {"n", fmt.Sprint(r.Uint64())}}
						if r.IntN(4) == 0 {
							tags = append(tags, nostr.Tag{"expiration", fmt.Sprint(now.Unix() + int64(1+r.IntN(20)))})
						}
						if r.IntN(3) > 0 {
							tags = append(tags, nostr.Tag{"relays", "wss://" + domain})
						}
						e := elsewhere(r.IntN(6), d, now.Add(time.Duration(r.IntN(30))*time.Second), tags...)
						if out, err := b.Add(e, store.Live); err != nil {
							t.Fatal(err)
						} else if out == policy.Accept {
							stored = append(stored, e)
							known.Changed(d)
						}
					}
					if r.IntN(3) > 0 {
						continue
					}
					d = fmt.Sprint(r.IntN(3))
					got, _, err := known.Gather(d, b, rules, time.Now().Unix())
					if err != nil {
						t.Fatal(err)
					}
					events, err := b.Announcements(d)
					if err != nil {
						t.Fatal(err)
					}
					for i := range 6 {
						e := elsewhere(i, d, now)
						a, errA := rules.Decide(e, policy.Stranger, fixed{b, got}, now)
						want, errB := rules.Decide(e, policy.Stranger, fixed{b, rules.Gather(events)}, now)
						if errA != nil || errB != nil || !reflect.DeepEqual(a, want) {
							t.Fatalf("seed %d: %v, want %v (%v, %v)", seed, a, want, errA, errB)
						}
					}
				}
				if r.IntN(4) == 0 {
					b.Discard()
					known = ingest.NewAnnounced()
				} else if _, err := b.Commit(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(r.IntN(4)) * time.Second)
			}
		})
	}
}

// fixed is a view with these announcements.
type fixed struct {
	*store.Batch
	same *policy.Announced
}

func (f fixed) Announcements(string, policy.Rules) (*policy.Announced, error) { return f.same, nil }

// An announcement is read once: among a thousand with one d the next one that is refused makes no work that depends on their
// number or size, and one that changes something is charged for what it makes.
func TestAnnouncementsAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := scaled(990, 300)
		w := newWorld(t, setup{})
		defer w.end()
		p := w.peer("a")
		text := strings.Repeat("x", 2000)
		for i := range n {
			e := announcement(100+i, "many", time.Now(), nostr.Tag{"description", text})
			if i%100 == 0 || i == n-1 { // the last one too: what is decided between refusals is read for them
				w.want(w.fetch(p, e), policy.Accept)
			} else {
				w.submit(p, e, store.Catchup)
			}
		}
		var charged []int
		c := w.clientAt("address", func(steps int) { charged = append(charged, steps) })
		for i := range 20 {
			w.want(w.publish(c, elsewhere(2000+i, "many", time.Now())), policy.Unlisted)
		}
		if len(charged) > 1 { // for the first one they are read
			t.Errorf("refusals were charged %v", charged)
		}
		charged = nil
		w.want(w.publish(c, announcement(100, "many", time.Now().Add(time.Second), maintainers(5))), policy.Accept)
		if len(charged) != 1 || charged[0] < n || charged[0] > 20*n {
			t.Errorf("a version that invites somebody was charged %v", charged)
		}
		charged = nil
		w.want(w.publish(c, elsewhere(5, "many", time.Now())), policy.Accept)
		w.want(w.publish(c, elsewhere(6, "many", time.Now())), policy.Unlisted)
	})
}

// What usual events make for work is not charged, what costly ones make is, and what relays bring is charged to nobody.
func TestWorkIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		total := 0
		c := w.clientAt("address", func(steps int) { total += steps })
		repo := announcement(1, "tool", time.Now(), maintainers(2, 3))
		w.want(w.publish(c, repo), policy.Accept)
		for i := range 50 {
			bug := issue(2, repo, time.Now(), fmt.Sprint(i))
			w.want(w.publish(c, bug), policy.Accept)
			w.want(w.publish(c, comment(3, bug, time.Now(), "yes")), policy.Accept)
		}
		w.want(w.publish(c, state(1, "tool", time.Now())), policy.Accept)
		if total != 0 {
			t.Errorf("usual events were charged %d steps", total)
		}
		many := issue(2, repo, time.Now(), "many")
		for i := range 1000 {
			many.Tags = append(many.Tags, nostr.Tag{"t", fmt.Sprint(i)})
		}
		w.want(w.publish(c, sign(*many)), policy.Accept)
		if total < 4000 || total > 10_000 {
			t.Errorf("an event with a thousand values was charged %d steps", total)
		}
		w.want(w.fetch(w.peer("a"), sign(nostr.Event{PubKey: key(9), CreatedAt: 1, Kind: nip34.KindIssue, Tags: many.Tags})), policy.Accept)
	})
}

// What is kept of announcements is bounded, in identifiers and in keys; the last ones that were asked for stay.
func TestWhatIsKnownOfAnnouncementsIsBounded(t *testing.T) {
	rules := policy.Rules{Service: mustService(t)}
	st, err := store.Open(store.Options{Dir: "data", FS: newMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b, err := st.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	known := ingest.NewAnnounced()
	ask := func(d string) (steps int) {
		t.Helper()
		_, steps, err := known.Gather(d, b, rules, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, keys := known.Size(); n > ingest.KnownIdentifiers || keys > ingest.KnownKeys {
			t.Fatalf("%d identifiers with %d keys are kept", n, keys)
		}
		return steps
	}
	var everybody []int
	for i := range 100 {
		everybody = append(everybody, 1000+i)
	}
	for i := range 20 {
		for d := range 4 {
			if _, err := b.Add(announcement(i, fmt.Sprint(d), time.Now(), maintainers(everybody...)), store.Live); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ask("0") == 0 || ask("0") != 0 {
		t.Error("what was read is not kept")
	}
	for i := range 3 * ingest.KnownIdentifiers {
		ask(fmt.Sprint("other", i))
		ask("0")
	}
	if ask("0") != 0 || ask("other0") != 0 { // of which there is nothing to read
		t.Error("what was asked for last is not kept")
	}
	if n, _ := known.Size(); n != ingest.KnownIdentifiers {
		t.Errorf("%d identifiers are kept", n)
	}
	// Long identifiers count by their length.
	for i := range 900 {
		ask(fmt.Sprint(i, strings.Repeat("d", 20_000)))
	}
	if n, _ := known.Size(); n > 700 {
		t.Errorf("%d long identifiers are kept", n)
	}
}

// One address brings so many announcements with one d; newer versions, other identifiers, other addresses, relays and the
// operator's own clients are free, and after a time it may bring more.
func TestManyAnnouncementsFromOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, same, other, own, peer := w.clientAt("a", nil), w.clientAt("a", nil), w.clientAt("b", nil), w.client(), w.member("relay", "owner")
		author := 100
		next := func() *nostr.Event { author++; return announcement(author, "many", time.Now()) }
		for i := range ingest.AnnouncementBurst {
			w.want(w.publish([]*ingest.Source{c, same}[i%2], next()), policy.Accept)
		}
		over := next()
		for _, s := range []*ingest.Source{c, same} {
			if v := w.publish(s, over); v.Outcome != policy.Discard || !strings.HasPrefix(v.Reason, "rate-limited: ") {
				t.Fatalf("one too many: %v", v)
			}
		}
		w.want(w.publish(c, announcement(101, "many", time.Now().Add(time.Second))), policy.Accept)
		w.want(w.publish(c, announcement(101, "one", time.Now())), policy.Accept)
		w.want(w.publish(c, elsewhere(9999, "many", time.Now())), policy.Unlisted)
		for _, s := range []*ingest.Source{other, own} {
			w.want(w.publish(s, next()), policy.Accept)
		}
		for range 2 * ingest.AnnouncementBurst {
			w.want(w.fetch(peer, next()), policy.Accept)
			w.want(w.publish(own, next()), policy.Accept)
		}
		w.want(w.publish(other, over), policy.Accept)
		time.Sleep(ingest.AnnouncementEvery)
		w.want(w.publish(c, next()), policy.Accept)
		if v := w.publish(c, next()); v.Outcome != policy.Discard {
			t.Errorf("after a while: %v", v)
		}
	})
}

// What waits for its invitation counts for the address that brought it.
func TestManyInvited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c := w.clientAt("a", nil)
		var invited []int
		for i := range 100 {
			invited = append(invited, 100+i)
			w.want(w.publish(c, elsewhere(100+i, "many", time.Now())), policy.Unlisted)
		}
		w.want(w.publish(c, announcement(1, "many", time.Now(), maintainers(invited...))), policy.Accept)
		time.Sleep(time.Second)
		if n := len(w.ids()); n != ingest.AnnouncementBurst {
			t.Errorf("%d announcements are here", n)
		}
	})
}

// The accounts of addresses are bounded, and the oldest are forgotten.
func TestAccountsOfAddressesAreBounded(t *testing.T) {
	c, now := ingest.NewPerAddress(), time.Now()
	for range ingest.AnnouncementBurst {
		c.Take("a", "d", now)
	}
	for i := range 2*ingest.AccountsKept + 10 {
		if !c.Take("b", fmt.Sprint(i), now) {
			t.Fatal("another identifier is one too many")
		}
		if i == ingest.AccountsKept/2 && c.Take("a", "d", now) {
			t.Error("forgotten too soon")
		}
		if n := c.Len(); n > 2*ingest.AccountsKept {
			t.Fatalf("%d are kept", n)
		}
	}
	if !c.Take("a", "d", now) {
		t.Error("never forgotten")
	}
}

// Who is welcome is worked out anew by other rules.
func TestAnnouncementsUnderOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, now := w.client(), time.Now()
		w.want(w.publish(c, announcement(1, "tool", now, maintainers(2, 3))), policy.Accept)
		w.want(w.publish(c, elsewhere(2, "tool", now)), policy.Accept)
		w.setRules(denying(t, 1)) // who invites nobody then
		if v := w.publish(c, elsewhere(3, "tool", now)); v.OK() {
			t.Errorf("invited by somebody who is denied: %v", v)
		}
		w.setRules(denying(t)) // which decides again what waits
		time.Sleep(time.Second)
		w.want(w.publish(c, elsewhere(3, "tool", now)), policy.Duplicate)
	})
}

// What an announcement said that could not be stored invites nobody.
func TestAnnouncementsOfABatchThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		w := newWorld(t, setup{opt: store.Options{FreeSpace: fullAtCommit(&on)}})
		defer w.end()
		p, now := w.peer("a"), time.Now()
		on.Store(true)
		first := w.submit(p, announcement(1, "tool", now, maintainers(2)), store.Live)
		second := w.submit(p, elsewhere(2, "tool", now), store.Live)
		w.want(<-first, policy.Failed)
		w.want(<-second, policy.Failed)
		on.Store(false)
		w.want(w.fetch(p, announcement(4, "tool", now)), policy.Accept) // under the number of the one that failed
		w.want(w.fetch(p, elsewhere(2, "tool", now)), policy.Unlisted)
	})
}

// One address brings few reports at once, and more in time; what another relay brings does not count.
func TestReportsFromOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c, peer := w.clientAt("a", nil), w.member("relay", "owner")
		w.want(w.publish(w.client(), announcement(1, "d", time.Now())), policy.Accept)
		n := 0
		next := func() *nostr.Event {
			n++
			return event(100+n, time.Now(), nostr.KindReport, "", nostr.Tag{"p", key(1).String(), "spam"})
		}
		for range ingest.ReportBurst {
			w.want(w.publish(c, next()), policy.Accept)
		}
		if v := w.publish(c, next()); v.Outcome != policy.Discard || !strings.HasPrefix(v.Reason, "rate-limited: ") {
			t.Errorf("one too many: %v", v)
		}
		w.want(w.fetch(peer, next()), policy.Accept)
		time.Sleep(ingest.ReportEvery)
		w.want(w.publish(c, next()), policy.Accept)
		if v := w.publish(c, next()); v.Outcome != policy.Discard {
			t.Errorf("after a while: %v", v)
		}
	})
}
