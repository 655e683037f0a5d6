package hosting

import (
	"context"

	"github.com/graspd/graspd/internal/events/store"
)

// unfinishedRoom is how many of the largest packs should find room on the disk at any time: who pushes one takes twice as much, and unfinished packs
// have half of what is free.
const unfinishedRoom = 4

// shrinkTrash removes what has been in the trash for longest, as long as the disk is so short, or all git data so much, that pushes may soon be
// refused.
func (h *Host) shrinkTrash(ctx context.Context) error {
	l := h.quotas.limits.Load()
	_, kept, err := h.Kept()
	if err != nil {
		return err
	}
	var failed error
	err = h.cfg.Disk.ShrinkTrash(ctx, func(bytes int64) bool {
		d, err := h.cfg.space()
		failed = err
		return err != nil || !near(d, l.Push) && (l.Total <= 0 || kept+bytes <= l.Total)
	})
	if failed != nil {
		return failed
	}
	return err
}

// near reports whether a disk is near one of its floors.
func near(d store.Disk, push int64) bool {
	return d.Free < d.Floor+max(d.Floor, uint64(unfinishedRoom*push)) || d.Inodes.All > 0 && d.Inodes.Free < 2*d.InodeFloor
}
