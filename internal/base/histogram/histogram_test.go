package histogram

import (
	"slices"
	"testing"
	"time"
)

func TestWhatTookSoLongCountsInItsClass(t *testing.T) {
	var c Counts
	for _, d := range []time.Duration{-time.Hour, 0, 5 * time.Millisecond, 5*time.Millisecond + 1, time.Second, 15 * time.Minute, 15*time.Minute + 1, 24 * time.Hour} {
		c.Add(d)
	}
	want := Counts{Sum: 10*time.Millisecond + 1 + time.Second + 30*time.Minute + 1 + 24*time.Hour}
	want.Classes[0], want.Classes[1], want.Classes[6], want.Classes[13], want.Classes[14] = 3, 1, 1, 1, 2
	if c != want {
		t.Errorf("%+v, not %+v", c, want)
	}
}

func TestTheBoundsRise(t *testing.T) {
	s := Seconds()
	if len(s) != len(Bounds) || s[0] != 0.005 || s[len(s)-1] != 900 || !slices.IsSorted(s) || !slices.IsSorted(Bounds[:]) {
		t.Errorf("%v", s)
	}
}
