package node

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/store"
)

// diskLook is the time between two looks at what the disks have left.
const diskLook = 30 * time.Second

// watchDisk warns at the start, and from then on whenever it changes, that a disk is at its floor.
func (n *Node) watchDisk(ctx context.Context) error {
	t := time.NewTicker(diskLook)
	defer t.Stop()
	stored, taken := true, true // whether there was room
	for {
		stored = n.tellRoom(stored, n.Store.Room(), "events and git data")
		if n.reader != nil && n.gitDisk() != nil {
			taken = n.tellRoom(taken, n.gitRoom(), "git data")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// tellRoom logs where the room for something has changed, and returns whether there is any.
func (n *Node) tellRoom(before bool, err error, what string) bool {
	room := !errors.Is(err, store.ErrFull)
	switch {
	case before && !room:
		n.log.Warn("the disk is at its floor: nothing more is stored on it", "part", what, "error", err, "mend", "make room, or lower --disk-floor")
	case !before && room:
		n.log.Warn("the disk has room again", "part", what)
	}
	return room
}
