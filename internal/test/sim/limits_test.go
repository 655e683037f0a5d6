package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestNothingIsMissedWhileSubscriptionsAreMerged: comments come every second on issues old and new, while new issues make
// for ever more subscriptions, which are united all the time. All of them come live.
func TestNothingIsMissedWhileSubscriptionsAreMerged(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		p.relay.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: 8}}
		p.relay.MaxSubs = 8
		x := p.project("proj", 3, p.relay.URL)
		p.relay.Store(x.all()...)
		p.here.Start()
		settle(t, p.here, time.Minute)
		before := state(t, p.here, p.relay.URL).Counters
		roots := append([]*nostr.Event(nil), x.issues...)
		var comments []*nostr.Event
		for i := range 300 {
			if i%10 == 0 {
				fresh := x.issueAt(p.w.Unix(), fmt.Sprint("one more ", i))
				p.relay.Add(fresh)
				roots = append(roots, fresh)
			}
			c := commentAt(p.w.Unix(), roots[i*7%max(1, len(roots)-2)]) // the newest two may not be followed yet
			p.relay.Add(c)
			comments = append(comments, c)
			wait(time.Second)
		}
		p.here.WantStored(comments...)
		s := state(t, p.here, p.relay.URL)
		if n := s.Counters.Catchup - before.Catchup; n != 0 {
			t.Errorf("%d events were not live", n)
		}
		if s.LiveREQs > 5 || s.SweptRoots > 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestMoreSubscriptionsThanAreAllowed, as the relay says only after EOSE and by a NOTICE that names none: those that it keeps
// are enough for what is live.
func TestMoreSubscriptionsThanAreAllowed(t *testing.T) {
	for _, most := range []int{5, 9} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Subs = testkit.Bound{Most: most, How: testkit.ByNoticeLate, Text: "ERROR: too many concurrent REQs"}
				x := p.project("proj", 200, p.relay.URL)
				p.relay.Store(x.all()...)
				p.here.Start()
				settle(t, p.here, time.Hour)
				var on []*nostr.Event
				for i := range 12 {
					fresh := x.issueAt(p.w.Unix(), fmt.Sprint("one more ", i))
					p.relay.Add(fresh)
					on = append(on, fresh)
					wait(20 * time.Second)
					early := commentAt(p.w.Unix(), fresh)
					p.relay.Add(early)
					on = append(on, early)
				}
				settle(t, p.here, time.Hour)
				p.here.WantStored(on...)
				before := state(t, p.here, p.relay.URL)
				for i := 0; i < len(x.issues); i += 10 {
					live := commentAt(p.w.Unix(), x.issues[i])
					p.relay.Add(live)
					wait(time.Second)
					p.here.WantStored(live)
				}
				if s := state(t, p.here, p.relay.URL); s.Counters.Catchup != before.Counters.Catchup || s.SweptRoots > 0 {
					t.Errorf("%+v, then %+v", before, s)
				}
			})
		})
	}
}

// TestFiveThousandRootsForTenSubscriptions of ten filters: within the limits at all times (the relay is the judge of that),
// and whatever is said of any of them is here within the interval of the sweep.
func TestFiveThousandRootsForTenSubscriptions(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	inPair(t, func(t *testing.T, p *pair) {
		subs := map[int]int{1: 10, 5: 4}[slower]
		p.relay.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: subs}}
		p.relay.MaxSubs, p.relay.MaxFilters = subs, 10
		const roots = 5000 / slower
		x := p.project("proj", roots, p.relay.URL)
		p.relay.Store(x.ann)
		p.relay.Store(x.issues...)
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		p.here.WantStored(x.issues...)
		s := state(t, p.here, p.relay.URL)
		if s.SweptRoots < roots/10 || s.SweptRoots > roots*4/5 || s.Confirmed.Roots != roots {
			t.Errorf("%+v", s)
		}
		var said []*nostr.Event
		for i := 0; i < roots; i += roots / 100 {
			said = append(said, commentAt(p.w.Unix(), x.issues[i]))
		}
		p.relay.Add(said...)
		wait(time.Second)
		live := 0
		for _, e := range said {
			if p.here.Has(e) {
				live++
			}
		}
		if live < 20 {
			t.Errorf("%d of %d came live", live, len(said))
		}
		wait(62 * time.Minute)
		p.here.WantStored(said...)
	})
}

// TestARelayThatIsSlowAtFirst is neither taken for one that nothing is wanted of, nor given up.
func TestARelayThatIsSlowAtFirst(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		named := p.w.Fake("named.example.net")
		p.relay.RefuseDial.Store(true)
		named.RefuseDial.Store(true)
		x := p.project("proj", 3, named.URL)
		p.relay.Store(x.ann)
		named.Store(x.issues...)
		p.here.Start()
		wait(2 * time.Minute)
		p.relay.RefuseDial.Store(false)
		wait(5 * time.Minute)
		p.here.WantStored(x.ann)
		// The relay that it names answers nothing for twenty minutes once it is there, but pings.
		named.NoEOSE.Store(true)
		named.Neg = testkit.NegSilent
		named.Temper.Store(&testkit.Temper{Silence: 100})
		named.RefuseDial.Store(false)
		wait(20 * time.Minute)
		if named.Dials() == 0 || state(t, p.here, named.URL).Phase != "syncing" {
			t.Errorf("%d dials, %+v", named.Dials(), state(t, p.here, named.URL))
		}
		dials := named.Dials()
		named.NoEOSE.Store(false)
		named.Temper.Store(nil)
		settle(t, p.here, time.Hour)
		p.here.WantStored(x.issues...)
		if named.Dials() != dials {
			t.Error("it was disconnected")
		}
	})
}

// TestAwayForFiveMinutesAfterThreeDays: what was published meanwhile comes, for announcements, repositories and root events,
// and no history with it.
func TestAwayForFiveMinutesAfterThreeDays(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = neg
			x := p.project("proj", 100, p.relay.URL)
			p.relay.Store(x.all()...)
			p.here.Start()
			wait(78 * time.Hour) // no full resync is near
			p.here.WantStored(x.all()...)
			p.relay.RefuseDial.Store(true)
			p.relay.Drop()
			wait(5 * time.Minute)
			ann := p.by(3, p.w.Unix(), "new", []grasp.RelayURL{p.here.URL, p.relay.URL})
			missed := []*nostr.Event{ann, x.issueAt(p.w.Unix(), "missed"), commentAt(p.w.Unix(), x.issues[7])}
			p.relay.Store(missed...)
			before := p.relay.Sent()
			p.relay.RefuseDial.Store(false)
			settle(t, p.here, 20*time.Minute)
			p.here.WantStored(missed...)
			if n := p.relay.Sent() - before; n > 30 {
				t.Errorf("%d events were sent for three", n)
			}
		})
	}
}

// TestAnOldRootEventThatIsTalkedAbout, where there is room for few: once something is said of it, by whatever way, what is said
// next comes live, and so it does after a restart.
func TestAnOldRootEventThatIsTalkedAbout(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		const subs, roots = 4, 2000
		p.here.Options.Engine = func(c *relaysync.Config) { c.Peer.WholeFrom = 1 << 20 }
		other := p.w.Fake("other.example.net")
		p.relay.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: subs}}
		p.relay.MaxSubs, p.relay.MaxFilters = subs, 10
		x := p.project("proj", roots, p.relay.URL, other.URL)
		p.relay.Store(x.ann)
		p.relay.Store(x.issues...)
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		comesLive := func(i int) bool {
			t.Helper()
			c := commentAt(p.w.Unix(), x.issues[i])
			p.relay.Add(c)
			wait(2 * time.Second)
			return p.here.Has(c)
		}
		if comesLive(5) {
			t.Fatalf("one of the oldest is followed: %+v", state(t, p.here, p.relay.URL))
		}
		for i, by := range []func(c *nostr.Event){
			func(c *nostr.Event) { p.here.Publish(c) },
			func(c *nostr.Event) { other.Add(c) },
			func(c *nostr.Event) { p.relay.Add(c); wait(62 * time.Minute) }, // it comes in its turn
		} {
			c := commentAt(p.w.Unix(), x.issues[i])
			by(c)
			wait(15 * time.Second)
			p.here.WantStored(c)
			if !comesLive(i) {
				t.Errorf("%d: what is said next does not come live: %+v", i, state(t, p.here, p.relay.URL))
			}
			wait(time.Minute)
		}
		p.here.Stop()
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		for i := range 3 {
			if !comesLive(i) {
				t.Errorf("%d: after a restart it is not followed", i)
			}
		}
		if comesLive(300) {
			t.Errorf("one of which nothing was said is followed: %+v", state(t, p.here, p.relay.URL))
		}
	})
}
