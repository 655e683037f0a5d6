package relaysync_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// sources returns where every stored event came from.
func (w *world) sources() map[nostr.ID]store.Source {
	w.t.Helper()
	out := make(map[nostr.ID]store.Source)
	for after := store.Seq(0); ; {
		entries, _, err := w.store.Since(after, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(entries) == 0 {
			return out
		}
		for _, e := range entries {
			if after = e.Seq; e.Event != nil {
				out[e.Event.ID] = e.Source
			}
		}
	}
}

// Every stored event tells how it came, and what the full resync finds that
// should have come live is a gap.
func TestEventsTellHowTheyCame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, boot, p := settledWorld(t, 3)
		defer w.stop()
		wait(time.Hour)
		live := p.later("live")
		boot.Add(live)
		direct := testkit.Comment(testkit.Key(5), time.Now().Unix(), p.issues[0], "direct")
		w.publish(direct)
		wait(time.Hour)
		missed, backdated := p.later("never shown live"), testkit.Comment(testkit.Key(5), time.Now().Unix()-50_000, p.issues[1], "old")
		boot.Store(missed, backdated)
		wait(26 * time.Hour)
		got := w.sources()
		for e, want := range map[*nostr.Event]store.Source{
			p.ann: store.Catchup, p.issues[2]: store.Catchup, p.comments[0]: store.Catchup,
			live: store.Live, direct: store.Direct, missed: store.Daily, backdated: store.Daily,
		} {
			if s, ok := got[e.ID]; !ok || s != want {
				t.Errorf("event of kind %d came by %v (%v), want %v", e.Kind, s, ok, want)
			}
		}
		s, _ := w.status(bootURL)
		if c := s.Counters; c.Gaps != 1 || c.Live != 1 || c.Catchup != 7 || c.Daily != 2 || c.Attempts != 1 || c.Undelivered != 0 {
			t.Errorf("%+v", c)
		}
		if s.Uptime == nil || *s.Uptime < 0.99 {
			t.Errorf("uptime %+v", s)
		}
	})
}

// Coverage counts what is shown here: not what was refused, or replaced since.
func TestCoverageOfARelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 10)
		older := testkit.Announcement(testkit.Key(1), p.ann.CreatedAt-100, "proj", ours, bootURL)
		boot.Store(p.ann)
		boot.Store(p.issues...)
		boot.Store(p.comments[5:]...)
		boot.RefuseDial.Store(true) // until everything is here
		w.start()
		defer w.stop()
		w.publish(older)
		for _, e := range p.all() {
			w.publish(e)
		}
		w.publish(testkit.Issue(testkit.Key(3), time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(3), "elsewhere"), "refused"))
		wait(10 * time.Second)
		boot.RefuseDial.Store(false)
		wait(time.Minute)
		w.settle()
		s, _ := w.status(bootURL)
		if s.Coverage == nil || *s.Coverage != 1-5.0/21 {
			t.Errorf("covered %v", s.Coverage)
		}
		boot.Store(p.comments[:5]...)
		wait(26 * time.Hour)
		w.settle()
		if s, _ := w.status(bootURL); s.Coverage == nil || *s.Coverage != 1 {
			t.Errorf("a day later covered %v", s.Coverage)
		}
	})
}
