package node

import (
	"strings"
	"testing"
	"time"
)

// TestTheEnginesClockShowsThatItWasSet: a wall time with a monotonic reading would hide a clock that was set and a machine that slept.
func TestTheEnginesClockShowsThatItWasSet(t *testing.T) {
	now := clock(time.Now)
	if s := now().Wall.String(); strings.Contains(s, "m=") {
		t.Errorf("the wall clock carries a monotonic reading: %s", s)
	}
	first := now()
	if second := now(); second.Mono < first.Mono {
		t.Errorf("%v after %v", second.Mono, first.Mono)
	}
}
