package node

import (
	"testing"
	"time"
)

// TestLooksBecomeRare: a relay that is not ready for days costs no more looks than one that is.
func TestLooksBecomeRare(t *testing.T) {
	for _, tt := range []struct {
		name              string
		ready             bool
		since, took, want time.Duration
	}{
		{"at the start", false, 0, 0, 250 * time.Millisecond},
		{"after a minute", false, time.Minute, 0, 1500 * time.Millisecond},
		{"after a day", false, 24 * time.Hour, 0, 10 * time.Second},
		{"ready at once", true, 0, 0, 10 * time.Second},
		{"looks that take long", false, time.Minute, time.Second, 20 * time.Second},
	} {
		if got := untilLook(tt.ready, tt.since, tt.took); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
