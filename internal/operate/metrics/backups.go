package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/status"
)

// ofBackups adds the figures of the backups that the relay makes by itself; where it makes none there are no such series.
func ofBackups(c *collector, from func() status.Backups) {
	tell := func(name, help string, value func(b status.Backups) float64) figure[*status.Backups] {
		return gauges(c, name, help, nil, func(b *status.Backups, to series) {
			if b != nil {
				to.tell(value(*b))
			}
		})
	}
	part(c, func(context.Context) *status.Backups {
		if from == nil {
			return nil
		}
		return new(from())
	},
		tell("graspd_backup_last_success_timestamp_seconds", "When the newest whole backup in --backup-dir was begun, as a unix time; 0 where there is none.", func(b status.Backups) float64 {
			if b.Last.IsZero() {
				return 0
			}
			return float64(b.Last.Unix())
		}),
		tell("graspd_backup_interval_seconds", "Time between two backups (--backup-every).", func(b status.Backups) float64 { return b.Every.Seconds() }),
		tell("graspd_backup_failures", "Backups that failed in a row; 0 once one is made.", func(b status.Backups) float64 { return float64(b.Failures) }),
		tell("graspd_backup_kept", "Whole backups in --backup-dir.", func(b status.Backups) float64 { return float64(b.Kept) }),
		tell("graspd_backup_bytes", "Bytes in the whole backups in --backup-dir.", func(b status.Backups) float64 { return float64(b.Bytes) }),
	)
}
