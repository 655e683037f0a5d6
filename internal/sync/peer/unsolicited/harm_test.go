package unsolicited_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

// TestFramesThatHarm are too many when they are a hundred more than the good ones, or a thousand within an hour.
func TestFramesThatHarm(t *testing.T) {
	for name, c := range map[string]struct{ good, want int }{
		"none good": {0, 100}, "some good": {50, 150}, "many good": {5000, 1000},
	} {
		h := unsolicited.NewHarm(time.Hour)
		for range c.good {
			h.Good()
		}
		n := 1
		for n < 10_000 && !h.Bad(1, 2*time.Hour) {
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d are too many, want %d", name, n, c.want)
		}
	}
	h := unsolicited.NewHarm(0)
	if h.Bad(99, time.Hour) || h.Bad(99, time.Hour+1) || !h.Bad(1, time.Hour+2) {
		t.Error("what is an hour old counts")
	}
}
