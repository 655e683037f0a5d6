package unsolicited_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

// What a relay may send besides events follows what it was sent, and the time.
func TestReplies(t *testing.T) {
	r := unsolicited.NewReplies(0)
	take := func(now time.Duration, sent uint64) int {
		n := 0
		for n < 10_000 && r.Take(now, sent) {
			n++
		}
		return n
	}
	for _, step := range []struct {
		name string
		now  time.Duration
		sent uint64
		want int
	}{
		{"at first", 0, 0, 100},
		{"nothing more", 0, 0, 0},
		{"to ten frames", 0, 10, 40},
		{"nine seconds later", 9 * time.Second, 10, 0},
		{"a minute later", 69 * time.Second, 10, 6},
		{"some of the rest", 70 * time.Second, 11, 5},
		{"many frames", 70 * time.Second, 100_000, 2000},
		{"a year", 365 * 24 * time.Hour, 100_000, 2000},
		{"a clock that goes back", time.Hour, 100_000, 0},
	} {
		if got := take(step.now, step.sent); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
	}
}
