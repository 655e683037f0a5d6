package relaysync_test

import (
	"testing"
	"time"
)

// Who reads Connections hears of each dial that came through, and of none that failed; where nobody reads, the engine goes on.
func TestConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.RefuseDial.Store(true)
		w.start()
		defer w.stop()
		hears := func(want int) {
			t.Helper()
			wait(time.Hour)
			for range want {
				select {
				case u := <-w.engine.Connections():
					if u != bootURL {
						t.Errorf("of %s", u)
					}
				default:
					t.Error("too few")
				}
			}
			if n := len(w.engine.Connections()); n != 0 {
				t.Errorf("%d too many", n)
			}
		}
		hears(0)
		boot.RefuseDial.Store(false)
		hears(1)
		boot.Drop()
		hears(1)
		for range 1010 {
			boot.Drop()
			wait(time.Hour)
		}
		if s, _ := w.status(bootURL); !s.Connected || len(w.engine.Connections()) != 1000 {
			t.Errorf("%+v with %d that nobody has read", s, len(w.engine.Connections()))
		}
	})
}
