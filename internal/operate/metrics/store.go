package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/events/store"
)

// ofStore adds the figures of the store.
func ofStore(c *collector, from Store) {
	part(c, func(context.Context) store.Stats { return from.Stats() },
		gauge(c, "graspd_store_events", "Events stored.", func(s store.Stats) int64 { return s.Events }),
		gauge(c, "graspd_store_repositories", "Repository announcements stored.", func(s store.Stats) int64 { return s.Repositories }),
		gauge(c, "graspd_store_remembered", "Events that were refused, whose ids are kept so that they are not fetched again.", func(s store.Stats) int64 { return s.Remembered }),
		gauge(c, "graspd_store_head", "Number of the last entry of the log.", func(s store.Stats) store.Seq { return s.Head }),
		gauge(c, "graspd_store_bytes", "Bytes on the disk.", func(s store.Stats) uint64 { return s.DiskBytes }),
	)
	ofDisk(c, from)
}

// ofDisk adds the figures of the store's file system. They have no values where it cannot be looked at.
func ofDisk(c *collector, from Store) {
	part(c, func(context.Context) *store.Disk {
		d, err := from.Disk()
		if err != nil {
			return nil
		}
		return &d
	}, diskFigures(c, "graspd_disk_", "where the data is")...)
}

// diskFigures returns the figures of one file system, with names that begin with prefix. They have no values for a nil Disk.
func diskFigures(c *collector, prefix, where string) []figure[*store.Disk] {
	one := func(name, help string, inodes bool, read func(*store.Disk) uint64) figure[*store.Disk] {
		return gauges(c, prefix+name, help, nil, func(d *store.Disk, to series) {
			if d != nil && (!inodes || d.Inodes.All > 0) {
				to.tell(float64(read(d)))
			}
		})
	}
	return []figure[*store.Disk]{
		one("free_bytes", "Bytes that are free "+where+".", false, func(d *store.Disk) uint64 { return d.Free }),
		one("floor_bytes", "Bytes below which nothing more is stored (--disk-floor).", false, func(d *store.Disk) uint64 { return d.Floor }),
		one("free_inodes", "Inodes that are free "+where+". File systems that make them as they go have no such figure.", true, func(d *store.Disk) uint64 { return d.Inodes.Free }),
		one("floor_inodes", "Inodes below which nothing more is stored: 10,000, or a twentieth of all where that is less.", true, func(d *store.Disk) uint64 { return d.InodeFloor }),
	}
}
