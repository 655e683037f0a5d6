package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/status"
)

// TestHowAFollowerStands: it is ready for as long as it has heard of the log lately, however far it is behind, and says how far that is.
func TestHowAFollowerStands(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		heard, level time.Time
		head         uint64
		ready        bool
		says         string
		problem      string
	}{
		"just started":         {time.Time{}, time.Time{}, 0, false, "this node follows h, which leads since", "has not heard yet"},
		"level":                {ago(time.Second), ago(time.Second), 40, true, "(term 3, position 40)", ""},
		"on the edge":          {ago(2 * time.Second), ago(2 * time.Second), 40, true, "(term 3, position 40)", ""},
		"it hears nothing":     {ago(3 * time.Second), ago(3 * time.Second), 40, false, "(term 3, position 40)", "for 3 s"},
		"behind, and it hears": {ago(time.Second), ago(9 * time.Second), 52, true, ", 12 commits behind for 9 s", ""},
		"one behind":           {ago(0), ago(time.Second), 41, true, ", 1 commit behind for 1 s", ""},
	} {
		s := status.Cluster{Leader: "h", Term: 3, Position: 40, Since: status.Moment{Time: ago(time.Hour)}}
		s.Follow(now, c.heard, c.level, c.head)
		if s.Fresh != c.ready || (s.Problem() == "") != c.ready || !strings.Contains(s.Problem(), c.problem) || !strings.Contains(s.String(), c.says) {
			t.Errorf("%s: fresh %v, %q, %q", name, s.Fresh, s.Problem(), s.String())
		}
		if s.Behind == 0 && (s.Lag.Duration != 0 || strings.Contains(s.String(), "behind")) {
			t.Errorf("%s: %q", name, s)
		}
	}
	lead := status.Cluster{Leads: true, Term: 3, Position: 40}
	if lead.Problem() != "" || !strings.HasPrefix(lead.String(), "this node leads since ") {
		t.Errorf("%q, %q", lead.Problem(), lead)
	}
}
