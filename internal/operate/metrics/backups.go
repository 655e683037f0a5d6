package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/status"
)

// ofBackups adds the figures of the backups that the relay makes by itself; where it makes none there are no such series.
func ofBackups(c *collector, from Backups) {
	figures := []figure[status.Backups]{
		gauge(c, "graspd_backup_last_success_timestamp_seconds", "When the newest whole backup in --backup-dir was begun, as a unix time; 0 where there is none.", func(b status.Backups) int64 { return unixOr0(b.Last) }),
		gauge(c, "graspd_backup_interval_seconds", "Time between two backups (--backup-every).", func(b status.Backups) float64 { return b.Every.Seconds() }),
		gauge(c, "graspd_backup_failures", "Backups that failed in a row; 0 once one is made.", func(b status.Backups) int { return b.Failures }),
		gauge(c, "graspd_backup_kept", "Whole backups in --backup-dir.", func(b status.Backups) int { return b.Kept }),
		gauge(c, "graspd_backup_bytes", "Bytes in the whole backups in --backup-dir.", func(b status.Backups) status.Bytes { return b.Bytes }),
	}
	if from != nil {
		part(c, func(context.Context) status.Backups { return from.Status() }, figures...)
	}
}
