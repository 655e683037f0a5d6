package ingest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// wallClock can be set, unlike the monotonic clock under it.
type wallClock struct{ ahead atomic.Int64 }

func (c *wallClock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())).Round(0) }
func (c *wallClock) jump(d time.Duration) { c.ahead.Add(int64(d)) }

func expiring(author int, repo *nostr.Event, at time.Time, in time.Duration) *nostr.Event {
	return event(author, at, 1621, "expires", nostr.Tag{"a", repo.Address()},
		nostr.Tag{"expiration", fmt.Sprint(at.Add(in).Unix())})
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name string
		in   time.Duration          // from the start until it expires
		play func(clock *wallClock) // takes an hour
		gone [2]time.Duration       // deleted after the first and not after the second
	}{
		{"in time", 30*time.Minute + 20*time.Second, func(*wallClock) {}, [2]time.Duration{30*time.Minute + 20*time.Second, 30*time.Minute + 22*time.Second}},
		{"not before the clock was watched for 10 min", time.Minute, func(*wallClock) {}, [2]time.Duration{10 * time.Minute, 11 * time.Minute}},
		{"a clock set a day ahead", 12 * time.Hour, func(c *wallClock) {
			time.Sleep(20*time.Minute + 30*time.Second)
			c.jump(24 * time.Hour)
		}, [2]time.Duration{30 * time.Minute, 33 * time.Minute}},
		{"a clock set a day ahead and back again", 12 * time.Hour, func(c *wallClock) {
			time.Sleep(20 * time.Minute)
			c.jump(24 * time.Hour)
			time.Sleep(8 * time.Minute)
			c.jump(-24 * time.Hour)
		}, [2]time.Duration{time.Hour, 0}},
		{"a clock set a day behind", 30 * time.Minute, func(c *wallClock) {
			time.Sleep(20 * time.Minute)
			c.jump(-24 * time.Hour)
		}, [2]time.Duration{time.Hour, 0}},
		{"a clock set a little back before it was believed", 5 * time.Minute, func(c *wallClock) {
			time.Sleep(8*time.Minute + 30*time.Second)
			c.jump(-6 * time.Minute)
		}, [2]time.Duration{18 * time.Minute, 20 * time.Minute}},
		{"a machine that slept for an hour", 40 * time.Minute, func(c *wallClock) {
			time.Sleep(20*time.Minute + 30*time.Second)
			c.jump(time.Hour)
		}, [2]time.Duration{30 * time.Minute, 33 * time.Minute}},
		{"a clock that is adjusted a little", 30 * time.Minute, func(c *wallClock) {
			time.Sleep(20 * time.Minute)
			c.jump(time.Minute)
		}, [2]time.Duration{29 * time.Minute, 29*time.Minute + 2*time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &wallClock{}
				// The store hides what has expired by its own clock; this one stands still, to see the deletion.
				start := time.Now()
				w := newWorld(t, setup{opt: store.Options{Now: func() time.Time { return start }}, config: ingest.Config{Now: clock.now}})
				defer w.end()
				repo := announcement(1, "tool", start)
				e := expiring(2, repo, start, c.in)
				w.want(w.publish(w.client(), repo), policy.Accept)
				w.want(w.publish(w.client(), e), policy.Accept)
				go c.play(clock)
				var gone time.Duration
				for at := time.Duration(0); at <= time.Hour; at += time.Second {
					if w.get(e.ID) == nil {
						gone = time.Since(start)
						break
					}
					time.Sleep(time.Second)
				}
				if c.gone[1] == 0 {
					if gone != 0 {
						t.Errorf("deleted after %v", gone)
					}
				} else if gone < c.gone[0] || gone > c.gone[1] {
					t.Errorf("deleted after %v, want between %v and %v", gone, c.gone[0], c.gone[1])
				}
				if k := w.known(e); gone != 0 && k.Why != policy.Expired {
					t.Errorf("the store knows %v of it", k)
				}
			})
		})
	}
}

// What is accepted with a short time to live is deleted in time.
func TestShortLived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		time.Sleep(20*time.Minute + 10*time.Second)
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), repo), policy.Accept)
		w.want(w.publish(w.client(), expiring(2, repo, time.Now(), 5*time.Second)), policy.Accept)
		time.Sleep(4500 * time.Millisecond)
		if n := w.store.Stats().Events; n != 2 {
			t.Errorf("%d events are stored, want 2", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.store.Stats().Events; n != 1 {
			t.Errorf("%d events are stored, want 1", n)
		}
	})
}

// Many that expire together are deleted in several batches, at once, and clients are heard between them.
func TestManyExpireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		start := time.Now()
		repo := announcement(1, "tool", start)
		w.want(w.publish(w.client(), repo), policy.Accept)
		<-w.flood(w.peer("a"), 1300, func(i int) *nostr.Event {
			return expiring(10+i, repo, start, 30*time.Minute)
		}, store.Live)
		time.Sleep(time.Until(start.Add(30*time.Minute - time.Second)))
		if n := w.store.Stats().Events; n != 1301 {
			t.Fatalf("%d events before the expiry, want 1301", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.store.Stats().Events; n != 1 {
			t.Errorf("%d events are left, want 1", n)
		}
	})
}

// A store without anything that expires is not written to.
func TestNothingExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		w.want(w.publish(w.client(), announcement(1, "tool", time.Now())), policy.Accept)
		time.Sleep(3 * time.Hour)
		if s := w.door.Stats(); s.Commits != 1 || s.Failures != 0 {
			t.Errorf("%d commits and %d failures, want 1 and 0", s.Commits, s.Failures)
		}
	})
}

// TestDeletionsThatRemoveNothingAge: the writer removes them in time, some at a time, also those that another process has left; and then
// their marks.
func TestDeletionsThatRemoveNothingAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		open := func(fs vfs.FS) *world {
			return newWorld(t, setup{fs: fs, opt: store.Options{Now: clock.now}, config: ingest.Config{Now: clock.now}})
		}
		w := open(nil)
		defer func() { w.end() }()
		start := time.Now()
		repo := announcement(1, "tool", start)
		w.want(w.publish(w.client(), repo), policy.Accept)
		w.want(w.publish(w.client(), issue(2, repo, start, "bug")), policy.Accept)
		var targets, dels []*nostr.Event
		for i := range 150 {
			targets = append(targets, event(2, start, 1621, fmt.Sprint("never here ", i), nostr.Tag{"a", repo.Address()}))
			dels = append(dels, deletion(2, start, targets[i]))
			w.want(w.publish(w.client(), dels[i]), policy.Accept)
		}
		time.Sleep(20 * time.Minute)
		clock.jump(store.UnusedServed - 50*time.Minute)
		time.Sleep(11 * time.Minute) // until the clock is believed
		w.end()
		w = open(w.fs)
		for _, e := range dels {
			if w.get(e.ID) == nil {
				t.Fatal("gone before its time")
			}
		}
		time.Sleep(30 * time.Minute)
		for _, e := range dels {
			if k := w.known(e); k.Why != policy.Unused {
				t.Fatalf("known as %v", k)
			}
		}
		w.want(w.publish(w.client(), targets[0]), policy.Deleted)
		clock.jump(store.UnusedGate)
		time.Sleep(25 * time.Hour)
		w.want(w.publish(w.client(), targets[1]), policy.Accept)
		w.want(w.publish(w.client(), targets[0]), policy.Deleted) // it was kept away once
	})
}
