package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestAClockTwentyMinutesWrong, or an author's that is years behind: what is live comes live.
func TestAClockTwentyMinutesWrong(t *testing.T) {
	for _, skew := range []time.Duration{-20 * time.Minute, -13 * time.Minute, 13 * time.Minute, 20 * time.Minute, 0} {
		t.Run(skew.String(), func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.here.Skew(skew)
				x := p.project("proj", 5, p.relay.URL)
				p.relay.Store(x.all()...)
				p.here.Start()
				settle(t, p.here, 10*time.Minute)
				p.here.WantStored(x.all()...)
				for i, ago := range []int64{16 * 60, 3600, 7 * 86_400, 3 * 365 * 86_400, 0} {
					e := x.issueAt(p.w.Unix()-ago, fmt.Sprint("live ", i))
					c := commentAt(p.w.Unix()-ago, x.issues[i])
					p.relay.Add(e, c)
					wait(time.Second)
					switch {
					case ago > 0 || skew >= -15*time.Minute:
						p.here.WantStored(e, c)
					default: // from its future, more than it takes of anybody
						p.here.WantAbsent(e, c)
						wait(30 * time.Hour)
						p.here.WantStored(e, c)
					}
				}
			})
		})
	}
}

// TestTheClockJumps by a day, forth and back, while graspd runs and the relay is away for a moment: nothing is lost, and
// what was refused for being of the future is taken when that has come.
func TestTheClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				x := p.project("proj", 5, p.relay.URL)
				expiring := testkit.Mark(testkit.Someone(1), p.w.Unix(), x.issues[0].Kind, "for twelve hours", nostr.Tag{"a", x.ann.Address()},
					nostr.Tag{"expiration", fmt.Sprint(p.w.Unix() + 12*3600)})
				p.relay.Store(append(x.all(), expiring)...)
				p.here.Start()
				settle(t, p.here, 10*time.Minute)
				p.here.Skew(jump)
				live := x.issueAt(p.w.Unix(), "after the jump")
				p.relay.Add(live)
				p.relay.RefuseDial.Store(true)
				p.relay.Drop()
				wait(time.Minute)
				missed := x.issueAt(p.w.Unix(), "meanwhile")
				p.relay.Store(missed)
				p.relay.RefuseDial.Store(false)
				wait(4 * time.Minute)
				if jump > 0 {
					p.here.WantStored(live, missed)
				}
				p.here.Skew(0)
				wait(30 * time.Minute)
				p.here.WantStored(live, missed, expiring)
				if n := p.relay.Deliveries()[expiring.ID]; n != 1 { // a clock that has just jumped deletes nothing
					t.Errorf("what expires was fetched %d times", n)
				}
				if n := p.relay.Dials(); n > 10 {
					t.Errorf("%d connections", n)
				}
				wait(12 * time.Hour)
				p.here.WantAbsent(expiring)
			})
		})
	}
}

// TestTheMachineSleeps for an hour: its steady clock stands still meanwhile, its connections are dead, and what was
// published is here soon.
func TestTheMachineSleeps(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		x := p.project("proj", 40, p.relay.URL)
		p.relay.Store(x.all()...)
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		// An hour of the world is nothing for graspd: that is its wall clock an hour ahead, and events of then.
		p.here.Skew(time.Hour)
		then := p.w.Unix() + 3000
		missed := []*nostr.Event{
			x.issueAt(then, "slept through"), commentAt(then, x.issues[3]), commentAt(then-2500, x.issues[4]),
			commentAt(then-6000, x.issues[5]), // backdated
		}
		p.relay.Store(missed...)
		p.relay.Silent.Store(true)
		p.relay.Drop()
		wait(time.Second)
		p.relay.Silent.Store(false)
		sent := p.relay.Sent()
		settle(t, p.here, 10*time.Minute)
		p.here.WantStored(missed...)
		if n := p.relay.Sent() - sent; n > 10 {
			t.Errorf("%d events moved for four", n)
		}
	})
}

// TestRefusedByAClockADayBehind: the right time is enough, no restart and no day's wait is needed.
func TestRefusedByAClockADayBehind(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		p.here.Skew(-40 * time.Hour)
		x := p.project("proj", 5, p.relay.URL)
		p.relay.Store(x.all()...)
		p.here.Start()
		wait(time.Hour)
		p.here.WantAbsent(x.all()...)
		p.here.Skew(0)
		wait(10 * time.Minute)
		p.here.WantStored(x.all()...)
	})
}
