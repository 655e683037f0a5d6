package status

import (
	"strings"
	"testing"
	"time"
)

// TestWhatIsSaidOfBackups in one line, and where the operator has to look after them.
func TestWhatIsSaidOfBackups(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	well := Backups{Dir: "/backups", Every: Seconds{24 * time.Hour}, Keep: 7, Kept: 2, Bytes: 3 << 30, Last: Moment{now.Add(-time.Hour)}, Next: Moment{now.Add(23 * time.Hour)}}
	for name, c := range map[string]struct {
		change        func(*Backups)
		line, problem string
	}{
		"all is well":  {func(*Backups) {}, "backups: 2 in /backups, 3.0 GiB, the newest of 2026-11-24T11:00:00Z; the next one in 23 h 0 min", ""},
		"none yet":     {func(b *Backups) { b.Last, b.Kept = Moment{}, 0 }, "backups: 0 in /backups, 3.0 GiB; the next one in 23 h 0 min", ""},
		"under way":    {func(b *Backups) { b.Running, b.Done, b.Size = true, 1<<20, 1<<30 }, "11:00:00Z; one is being made, 1.0 MiB of 1.0 GiB", ""},
		"just begun":   {func(b *Backups) { b.Running = true }, "11:00:00Z; one is being made", ""},
		"failing":      {func(b *Backups) { b.Failures, b.FailingSince, b.Cause = 3, Moment{now}, "no room\n" }, "", "backups to /backups fail since 2026-11-24T12:00:00Z: no room\\n; the newest whole one is of 2026-11-24T11:00:00Z"},
		"never made":   {func(b *Backups) { b.Failures, b.Last = 1, Moment{} }, "", "there is no whole one"},
		"cut":          {func(b *Backups) { b.Cut = "x.tar" }, "", "x.tar in /backups is no whole backup: it was cut short; remove it"},
		"none is made": {func(b *Backups) { b.Last.Time = now.Add(-50 * time.Hour) }, "", "no backup to /backups was made for 2 d 2 h; the newest whole one is of 2026-11-22T10:00:00Z"},
	} {
		b := well
		c.change(&b)
		if got := b.Line(now); c.line != "" && !strings.HasSuffix(got, c.line) {
			t.Errorf("%s: %s", name, got)
		}
		if got := b.Problem(now); got != c.problem && (c.problem == "" || !strings.HasSuffix(got, c.problem)) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
