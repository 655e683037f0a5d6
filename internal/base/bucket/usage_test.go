package bucket

import (
	"testing"
	"time"
)

func TestWhatWasUsedIsForgotten(t *testing.T) {
	var u Usage[string]
	at := func(minutes float64) time.Time {
		return time.Unix(1000, 0).Add(time.Duration(minutes * float64(time.Minute)))
	}
	u.Add(at(0), "much", 40*time.Second)
	u.Add(at(0), "little", 999*time.Millisecond)
	u.Add(at(1), "much", 12*time.Second) // and half of what was
	for _, c := range []struct {
		minutes float64
		who     string
		want    int
	}{
		{0, "nobody", 0}, {0, "little", 0}, {1, "much", 32}, {2, "much", 16}, {6, "much", 1}, {6.1, "much", 0}, {0, "much", 32}, // a clock that goes back
	} {
		if got := u.Seconds(at(c.minutes), c.who); got != c.want {
			t.Errorf("%s after %g minutes: %d, not %d", c.who, c.minutes, got, c.want)
		}
	}
}

// What is under way counts as if each second of it had been added when it was over.
func TestWhatIsUnderWayCounts(t *testing.T) {
	var u Usage[string]
	now := time.Unix(1000, 0)
	for i := range 600 {
		if got, want := Lately(time.Duration(i)*time.Second), float64(u.Seconds(now, "x")); got < want-1 || got > want+2 {
			t.Errorf("after %d s: %g, not %g", i, got, want)
		}
		now = now.Add(time.Second)
		u.Add(now, "x", time.Second)
	}
}

// Beyond a bound those who used least are forgotten; who used most stays.
func TestWhoUsedLeastIsForgotten(t *testing.T) {
	for _, each := range []time.Duration{time.Millisecond, 3 * time.Second} {
		var u Usage[int]
		now := time.Unix(1000, 0)
		u.Add(now, -1, 50*time.Second)
		for i := range 100 * mostParties {
			u.Add(now, i, each)
			if len(u.by) > mostParties {
				t.Fatalf("%d are kept", len(u.by))
			}
		}
		if u.Seconds(now, -1) != 50 {
			t.Error("who used most has gone")
		}
	}
}
