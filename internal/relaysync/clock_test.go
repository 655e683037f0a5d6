package relaysync

import (
	"strings"
	"testing"
)

// TestTheDefaultClockShowsThatItWasSet: a wall time with a monotonic reading
// would hide a clock that was set and a machine that slept.
func TestTheDefaultClockShowsThatItWasSet(t *testing.T) {
	if s := (Config{}).withDefaults().Now().Wall.String(); strings.Contains(s, "m=") {
		t.Errorf("the wall clock carries a monotonic reading: %s", s)
	}
}
