package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/status"
)

// Bucket keeps figures about the bucket in which the relay keeps what it has.
type Bucket interface {
	Status() status.Bucket
	Asked() [len(objects.Kinds)]objects.Requests
}

// ofBucket adds the figures of the bucket; without one there are no such series.
func ofBucket(c *collector, from Bucket) {
	figures := []figure[status.Bucket]{
		gauge(c, "graspd_bucket_position", "The newest commit that is in the bucket, by number.", func(b status.Bucket) uint64 { return b.Position }),
		gauge(c, "graspd_bucket_late_commits", "Commits that are on this disk alone yet, and come into the bucket within --bucket-commit.", func(b status.Bucket) int { return b.Late }),
		gauge(c, "graspd_bucket_log_bytes", "Bytes of the commits since the newest snapshot, as was counted last.", func(b status.Bucket) status.Bytes { return b.Log }),
		gauge(c, "graspd_bucket_snapshot_timestamp_seconds", "When the newest snapshot was made, as a unix time; 0 where there is none.", func(b status.Bucket) int64 { return unixOr0(b.Snapshot) }),
		gauge(c, "graspd_bucket_away_since_timestamp_seconds", "Since when the bucket has not answered, as a unix time; 0 while it does.", func(b status.Bucket) int64 { return unixOr0(b.Away) }),
		gauges(c, "graspd_bucket_local_bytes", "Bytes of packs of repositories on this disk, which may come from the bucket again.", nil, func(b status.Bucket, to series) {
			if b.Local != nil {
				to.tell(float64(*b.Local))
			}
		}),
	}
	asked := []figure[[len(objects.Kinds)]objects.Requests]{
		histograms(c, "graspd_bucket_request_seconds", "How long requests to the bucket took, by kind: put, get, head, list or delete.", []string{"kind"}, func(all [len(objects.Kinds)]objects.Requests, to series) {
			for i, r := range all {
				to.durations(r.Took, objects.Kinds[i])
			}
		}),
		counters(c, "graspd_bucket_failures_total", "Requests to the bucket that it refused or did not answer, by kind; each is made again.", []string{"kind"}, func(all [len(objects.Kinds)]objects.Requests, to series) {
			for i, r := range all {
				to.tell(float64(r.Failed), objects.Kinds[i])
			}
		}),
	}
	if from != nil {
		part(c, func(context.Context) status.Bucket { return from.Status() }, figures...)
		part(c, func(context.Context) [len(objects.Kinds)]objects.Requests { return from.Asked() }, asked...)
	}
}

// unixOr0 returns a moment as a unix time; 0 for none.
func unixOr0(m status.Moment) int64 {
	if m.IsZero() {
		return 0
	}
	return m.Unix()
}
