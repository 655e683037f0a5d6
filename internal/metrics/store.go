package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/store"
)

// ofStore tells of what is stored.
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

// ofDisk are the figures of the file system. Where it cannot be looked at there are none.
func ofDisk(c *collector, from Store) {
	type looked struct {
		store.Disk
		err error
	}
	one := func(name, help string, inodes bool, read func(store.Disk) uint64) figure[looked] {
		return gauges(c, name, help, nil, func(d looked, to series) {
			if d.err == nil && (!inodes || d.Inodes.All > 0) {
				to.tell(float64(read(d.Disk)))
			}
		})
	}
	part(c, func(context.Context) looked { d, err := from.Disk(); return looked{d, err} },
		one("graspd_disk_free_bytes", "Bytes that are free where the data is.", false, func(d store.Disk) uint64 { return d.Free }),
		one("graspd_disk_floor_bytes", "Bytes below which nothing more is stored (--disk-floor).", false, func(d store.Disk) uint64 { return d.Floor }),
		one("graspd_disk_free_inodes", "Inodes that are free where the data is. File systems that make them as they go have no such figure.", true, func(d store.Disk) uint64 { return d.Inodes.Free }),
		one("graspd_disk_floor_inodes", "Inodes below which nothing more is stored: 10,000, or a twentieth of all where that is less.", true, func(d store.Disk) uint64 { return d.InodeFloor }),
	)
}
