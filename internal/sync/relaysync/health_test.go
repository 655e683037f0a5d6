package relaysync_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// A relay that comes and goes with what is wanted is tried no more often for that.
func TestAWantThatComesAndGoesDoesNotResetTheBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		other := w.net.Relay(otherURL)
		other.RefuseDial.Store(true)
		w.start()
		defer w.stop()
		owner := testkit.Key(1)
		announce := func(relays ...string) {
			w.publish(testkit.Announcement(owner, time.Now().Unix(), "proj", append([]string{ours}, relays...)...))
		}
		announce(otherURL)
		wait(2 * time.Hour)
		before := other.Dials()
		for range 6 {
			announce()
			wait(90 * time.Second)
			if _, ok := w.status(otherURL); ok {
				t.Fatal("it is not let go")
			}
			announce(otherURL)
			wait(90 * time.Second)
			if s, _ := w.status(otherURL); s.Failures < 10 || s.Health != status.Degraded {
				t.Fatalf("its failures are forgotten: %+v", s)
			}
		}
		if n := other.Dials() - before; n > 1 {
			t.Errorf("dialed %d times within 18 minutes", n)
		}
	})
}

// Nothing is lost between the times at which it is written: not when the relay is let go, nor when graspd ends.
func TestHealthOfAFewSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.adjust = func(c *relaysync.Config) { c.CheckEvery = 7 * time.Second }
		other := failFor(t, w, 30*time.Second)
		before, _ := w.status(otherURL)
		if before.Failures < 2 {
			t.Fatalf("%+v", before)
		}
		owner, at := testkit.Key(1), time.Now().Unix()
		w.publish(testkit.Announcement(owner, at, "proj", ours))
		wait(14 * time.Second)
		if _, ok := w.status(otherURL); ok {
			t.Fatal("it is not let go")
		}
		dials := other.Dials()
		w.publish(testkit.Announcement(owner, at+1, "proj", ours, otherURL))
		wait(6 * time.Second)
		if s, _ := w.status(otherURL); s.Failures < before.Failures {
			t.Errorf("let go and wanted again: %+v", s)
		}
		w.stop()
		w.start()
		defer w.stop()
		wait(time.Second)
		if s, _ := w.status(otherURL); s.Failures < before.Failures || other.Dials() > dials+1 {
			t.Errorf("after a restart: %+v, %d dials", s, other.Dials()-dials)
		}
	})
}

// fail lets a relay refuse everything for so long, with one repository that names it.
func failFor(t *testing.T, w *world, d time.Duration) *testkit.FakeRelay {
	t.Helper()
	other := w.net.Relay(otherURL)
	other.RefuseDial.Store(true)
	w.start()
	w.publish(newProject("proj", 1, otherURL).ann)
	wait(d)
	return other
}

func TestARestartGoesOnWithTheBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		other := failFor(t, w, 3*time.Hour)
		before, _ := w.status(otherURL)
		w.stop()
		wait(2 * time.Minute)
		dials := other.Dials()
		w.start()
		defer w.stop()
		wait(time.Second)
		s, _ := w.status(otherURL)
		if other.Dials() != dials || s.Failures != before.Failures || s.Health != status.Degraded || !s.NextAttempt.Equal(before.NextAttempt.Truncate(time.Millisecond)) {
			t.Errorf("%d dials, was %+v, is %+v", other.Dials()-dials, before, s)
		}
		wait(time.Until(before.NextAttempt.Time) + time.Second)
		if s, _ = w.status(otherURL); other.Dials() != dials+1 || s.Failures != before.Failures+1 {
			t.Errorf("when it is due: %d dials, %+v", other.Dials()-dials, s)
		}
		if up := w.engine.Watched(t.Context(), otherURL); up.Connected != 0 || up.Not < 3*time.Hour-time.Minute {
			t.Errorf("%+v", up)
		}
	})
}

func TestARestartTriesADeadRelayOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		other := failFor(t, w, 30*time.Hour)
		before, _ := w.status(otherURL)
		if before.Health != status.Dead {
			t.Fatalf("%+v", before)
		}
		w.stop()
		dials := other.Dials()
		w.start()
		wait(10 * time.Second)
		if n := other.Dials() - dials; n != 1 {
			t.Errorf("dialed %d times after a restart", n)
		}
		if s, _ := w.status(otherURL); s.Health != status.Dead || s.Failures != before.Failures+1 {
			t.Errorf("%+v", s)
		}
		wait(23 * time.Hour)
		if n := other.Dials() - dials; n != 1 {
			t.Errorf("dialed %d times within a day", n)
		}
		w.stop()
		other.RefuseDial.Store(false)
		w.start()
		defer w.stop()
		wait(6 * time.Minute)
		if s, _ := w.status(otherURL); s.Health != status.Healthy || s.Failures != 0 {
			t.Errorf("it is back: %+v", s)
		}
	})
}

// What a power cut takes is a minute at most.
func TestAPowerCutLosesAMinuteOfHealth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		w.fs = vfs.NewCrashableMem()
		w.net.Relay(bootURL)
		other := failFor(t, w, 3*time.Hour+30*time.Second)
		up := w.engine.Watched(t.Context(), bootURL)
		failing, _ := w.status(otherURL)
		disk := w.fs.CrashClone(vfs.CrashCloneCfg{})
		w.stop()
		w.fs = disk
		dials := other.Dials()
		w.start()
		defer w.stop()
		wait(time.Second)
		after := w.engine.Watched(t.Context(), bootURL)
		if lost := up.Connected - after.Connected; lost < -2*time.Second || lost > time.Minute {
			t.Errorf("connected for %v before and %v after", up.Connected, after.Connected)
		}
		if s, _ := w.status(otherURL); s.Failures < failing.Failures-1 || other.Dials() > dials+1 {
			t.Errorf("%+v, before %+v", s, failing)
		}
	})
}

// The clock that a new process finds may be any.
func TestAClockThatWasSetPutsNoRelayOffForEver(t *testing.T) {
	for _, set := range []time.Duration{-1000 * 24 * time.Hour, 1000 * 24 * time.Hour} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			other := failFor(t, w, 12*time.Hour)
			w.stop()
			begun := time.Now()
			w.adjust = func(c *relaysync.Config) {
				c.Now = func() backoff.Now { return backoff.Now{Mono: time.Since(begun), Wall: time.Now().Round(0).Add(set)} }
			}
			other.RefuseDial.Store(false)
			w.start()
			defer w.stop()
			wait(76 * time.Minute)
			if s, _ := w.status(otherURL); s.Phase != "live" || s.Health != status.Healthy {
				t.Errorf("clock set by %v: %+v", set, s)
			}
		})
	}
}
