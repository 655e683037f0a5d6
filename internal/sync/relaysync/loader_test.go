package relaysync_test

import (
	"runtime"
	"testing"
	"time"
)

// What reads the store for a connection ends with it, however often the relay comes and goes.
func TestLoadersEndWithTheirConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		boot.Store(p.all()...)
		w.start()
		defer w.stop()
		release := w.engine.HoldLoads()
		least, most := 1<<30, 0
		for range 12 {
			wait(70 * time.Minute) // longer than any backoff
			if boot.Open() == 0 {
				t.Fatal("not connected")
			}
			n := runtime.NumGoroutine()
			least, most = min(least, n), max(most, n)
			boot.Drop()
		}
		if most > least+3 {
			t.Errorf("between %d and %d goroutines", least, most)
		}
		release()
		wait(2 * time.Hour)
		w.settle()
		w.wantStored(p.all()...)
	})
}
