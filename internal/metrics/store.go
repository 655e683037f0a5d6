package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/store"
)

// ofStore tells of what is stored.
func ofStore(c *collector, from interface{ Stats() store.Stats }) {
	part(c, func(context.Context) store.Stats { return from.Stats() },
		gauge(c, "graspd_store_events", "Events stored.", func(s store.Stats) int64 { return s.Events }),
		gauge(c, "graspd_store_repositories", "Repository announcements among them.", func(s store.Stats) int64 { return s.Repositories }),
		gauge(c, "graspd_store_remembered", "Events that were decided against, whose ids are kept so that they are not fetched again.", func(s store.Stats) int64 { return s.Remembered }),
		gauge(c, "graspd_store_head", "Number of the last entry of the log.", func(s store.Stats) store.Seq { return s.Head }),
		gauge(c, "graspd_store_bytes", "Bytes on the disk.", func(s store.Stats) uint64 { return s.DiskBytes }),
	)
}
