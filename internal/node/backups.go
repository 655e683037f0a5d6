package node

import (
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/backup"
)

// Backups says where and how often a node makes backups by itself.
type Backups struct {
	Dir   string // must exist
	Every time.Duration
	Keep  int
	Rate  int64 // bytes a second; 0 is as fast as can be
}

func (n *Node) newBackups() *backup.Scheduler {
	c := n.cfg.Backups
	return backup.NewScheduler(backup.Schedule{
		Dir: c.Dir, Every: c.Every, Keep: c.Keep, Rate: c.Rate, Floor: n.cfg.Store.Floor, Make: n.writeTar, Free: freeIn, Now: n.cfg.Now,
		Name: "graspd-" + n.self.String()[:8], Logger: n.log.With("component", "backups"),
	})
}

// freeIn returns how many bytes are free for this user on the disk of a directory.
func freeIn(dir string) (uint64, error) {
	s, err := store.SpaceIn(dir)
	return s.Free, err
}
