package status

import (
	"testing"
	"time"
)

// TestTheLineOfABucket has all that there may be, and nothing else.
func TestTheLineOfABucket(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	b := Bucket{Name: "s3://name/a\n", Position: 12, Term: 3, Log: 1 << 20, Requests: 1}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log; 1 request, 0 failed`},
		{func() { b.Snapshot.Time = now.Add(-time.Hour) }, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log since the snapshot of 2026-11-24T11:00:00Z; 1 request, 0 failed`},
		{func() { b.Snapshot, b.Local, b.Requests, b.Failed = Moment{}, new(Bytes(3<<30)), 7, 2 }, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log; 3.0 GiB of packs are on this disk; 7 requests, 2 failed`},
		{func() { b.Late, b.LateSince.Time = 2, now.Add(-3*time.Second) }, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log; 3.0 GiB of packs are on this disk; 7 requests, 2 failed; 2 commits of the last 3 s on this disk alone yet`},
		{func() { b.Late, b.LateSince.Time = 0, time.Time{} }, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log; 3.0 GiB of packs are on this disk; 7 requests, 2 failed`},
		{func() { b.Local, b.Away.Time, b.Error = nil, now.Add(-3*time.Minute), "no\nroute" }, `bucket s3://name/a\n: commit 12 (term 3), 1.0 MiB of log; 7 requests, 2 failed; no answer for 3 min: no\nroute`},
	} {
		c.change()
		if got := b.Line(now); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
