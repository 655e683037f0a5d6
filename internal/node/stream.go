package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/backup"
)

// snapshots begins the names of the directories, in the data directory, from which backups are streamed.
const snapshots = "backup-*.tmp"

// StreamClosed writes the data directory data, which no node has open, as one tar. StreamClosed fails with store.ErrInUse where a node has
// it open.
func StreamClosed(ctx context.Context, data string, o store.Options, begin backup.Start) error {
	return streamed(ctx, data, begin, func(to string, then func() error) error {
		o.Dir = StoreIn(data)
		return store.CopyClosed(o, StoreIn(to), func() error {
			if err := copyClosedGit(data, to, o); err != nil {
				return err
			}
			return then() // before anybody else may open it
		})
	})
}

// Stream writes the whole data directory as one tar while the node runs. Stream fails with backup.ErrRunning while another backup is under
// way.
func (n *Node) Stream(ctx context.Context, begin backup.Start) error {
	if err := n.writeTar(ctx, begin); errors.Is(err, backup.ErrRunning) {
		return err
	} else if err != nil {
		n.log.Error("a backup failed", "dir", "-", "error", err)
		return err
	}
	n.log.Info("backup", "dir", "-")
	return nil
}

// writeTar writes everything as one tar, or fails with backup.ErrRunning.
func (n *Node) writeTar(ctx context.Context, begin backup.Start) error {
	select {
	case n.copying <- struct{}{}:
		defer func() { <-n.copying }()
	default:
		return backup.ErrRunning
	}
	return streamed(ctx, n.cfg.Dir, begin, func(to string, then func() error) error {
		if err := n.copyContent(ctx, to); err != nil {
			return err
		}
		return then()
	})
}

// streamed makes a copy in the data directory, by links where that is possible, and writes the copy as a tar.
func streamed(ctx context.Context, data string, begin backup.Start, copied func(to string, then func() error) error) (err error) {
	at := time.Now()
	dir, err := os.MkdirTemp(data, snapshots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return copied(dir, func() error {
		if err := copyKey(filepath.Join(data, keyFile), filepath.Join(dir, keyFile)); err != nil {
			return err
		}
		size, err := backup.Size(dir)
		if err != nil {
			return err
		}
		w, done, err := begin(size)
		if err != nil {
			return err
		}
		return backup.Write(ctx, w, dir, at, done)
	})
}

// sweepSnapshots removes the directories that a kill has left. It logs those that it cannot remove: the relay runs all the same.
func (n *Node) sweepSnapshots() {
	left, err := filepath.Glob(filepath.Join(n.cfg.Dir, snapshots))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		n.log.Warn("what an interrupted backup left cannot be removed", "error", fmt.Sprint(err))
	}
}
