package sim_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestARelayThatHangsUpAfterSomeMessages is read completely all the same: each connection goes on where the one before it was lost.
func TestARelayThatHangsUpAfterSomeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	for name, x := range map[string]struct {
		habits            testkit.Habits
		within            time.Duration
		connections, asks int
		sent              int // two filters match each comment, so that 1211 are sent where no connection is lost
	}{
		"by pages":        {testkit.Habits{Neg: testkit.NegNotice}, 6 * time.Minute, 31, 350, 1211 * 6 / 5},
		"fifty a page":    {testkit.Habits{Neg: testkit.NegNotice, PageCap: 50}, 6 * time.Minute, 31, 350, 1211 * 6 / 5},
		"what came first": {testkit.Habits{Neg: testkit.NegNotice, First: true, PageCap: 50}, 12 * time.Minute, 45, 420, 1211 * 2},
		"by id":           {testkit.Habits{}, 3 * time.Minute, 15, 160, 601 * 11 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Habits = x.habits
				p.relay.Temper.Store(&testkit.Temper{Messages: 60})
				all := p.project("proj", 300, p.relay.URL).all()
				p.relay.Store(all...)
				p.here.Start()
				wait(x.within)
				p.here.WantStored(all...)
				wait(30*time.Minute - x.within)
				if n, asked, sent := p.relay.Dials(), asks(p.relay), p.relay.Sent(); n > x.connections || asked > x.asks || sent > x.sent {
					t.Errorf("%d connections, asked %d times, %d events were sent", n, asked, sent)
				}
			})
		})
	}
}

// TestAnEventThatEndsTheConnection keeps none of the others away, stored or live, and is told.
func TestAnEventThatEndsTheConnection(t *testing.T) {
	for name, neg := range map[string]testkit.NegMode{"by pages": testkit.NegNotice, "by id": testkit.NegWorks} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Neg, p.relay.TooLarge = neg, 2
				x := p.project("proj", 240, p.relay.URL)
				tooLarge := func(e *nostr.Event) bool { return int(e.ID[30])%100 < p.relay.TooLarge }
				fine, large := []*nostr.Event{x.ann}, 0
				for i, issue := range x.issues {
					if tooLarge(issue) {
						continue
					}
					fine = append(fine, issue)
					if c := x.comments[i]; !tooLarge(c) {
						fine = append(fine, c)
					} else if large++; large == 1 {
						p.relay.Store(c)
					}
				}
				p.relay.Store(fine...)
				p.here.Start()
				wait(15 * time.Minute)
				p.here.WantStored(fine...)
				if s := state(t, p.here, p.relay.URL); s.Phase != status.PhaseUnproven || s.Unproven.Items() == 0 || p.relay.Dials() > 80 {
					t.Errorf("%d connections, %+v", p.relay.Dials(), s)
				}
				one, next := x.issueAt(p.w.Unix(), "too large"), x.issueAt(p.w.Unix()-2, "live")
				for !tooLarge(one) {
					one = x.issueAt(p.w.Unix(), one.Content+"!")
				}
				for tooLarge(next) {
					next = x.issueAt(p.w.Unix()-2, next.Content+"!")
				}
				p.relay.Add(one)
				p.relay.Add(next)
				wait(15 * time.Minute)
				p.here.WantStored(next)
			})
		})
	}
}
