package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/backup"
)

// CopyClosed copies the data directory data, which no node has open, to the new directory dir. CopyClosed fails with store.ErrInUse where a
// node has it open.
func CopyClosed(data, dir string, o store.Options) error {
	o.Dir = StoreIn(data)
	return copyData(data, dir, func(to string) error {
		return store.CopyClosed(o, StoreIn(to), func() error { return copyClosedGit(data, to, o) })
	})
}

// copyData makes a copy of a data directory, of whose store and git data copyContent makes the copies.
func copyData(data, dir string, copyContent func(to string) error) error {
	return NewCopy(dir, func(partial string) error {
		if err := copyContent(partial); err != nil {
			return err
		}
		if err := os.Chmod(StoreIn(partial), 0o700); err != nil {
			return err
		}
		return copyKey(filepath.Join(data, keyFile), filepath.Join(partial, keyFile))
	})
}

// NewCopy makes the directory dir, readable by its owner alone, and has fill fill it. The directory has another name, partial, until it is
// complete and durable. NewCopy removes it after an error.
func NewCopy(dir string, fill func(partial string) error) (err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, &fs.PathError{Op: "copy to", Path: dir, Err: fs.ErrExist})
	}
	partial := dir + ".partial"
	if err := os.Mkdir(partial, 0o700); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: it was left by a copy that was interrupted, remove it", err)
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if err := fill(partial); err != nil {
		return err
	}
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// copyKey copies the relay's key, if it has one yet, for its owner alone.
func copyKey(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Backup copies the whole data directory to the new directory dir while the node runs. Backup fails with backup.ErrRunning while another
// backup is under way.
func (n *Node) Backup(dir string) error {
	select {
	case n.copying <- struct{}{}:
		defer func() { <-n.copying }()
	default:
		return backup.ErrRunning
	}
	err := copyData(n.cfg.Dir, dir, func(to string) error { return n.copyContent(context.Background(), to) })
	if err != nil {
		n.log.Error("a backup failed", "dir", dir, "error", err)
		return err
	}
	n.log.Info("backup", "dir", dir)
	return nil
}

// copyContent copies the store and the git data into a directory. The copy belongs to no bucket: it is for when that is gone.
func (n *Node) copyContent(ctx context.Context, to string) error {
	if n.follows && n.cfg.Git != nil {
		return errors.New("this node follows, and has no git data: make the backup of the node that leads")
	}
	if err := n.Store.Copy(StoreIn(to)); err != nil {
		return err
	}
	if err := n.copyGit(ctx, to); err != nil || n.bucket == nil {
		return err
	}
	o := n.cfg.Store
	return standAlone(ctx, to, store.Options{FS: o.FS, Now: n.cfg.Now, Floor: o.Floor, InodeFloor: o.InodeFloor})
}

// backupPatience is how long a stop waits for a backup.
const backupPatience = 5 * time.Second

// endBackups waits for the backup under way and lets no other begin.
func (n *Node) endBackups() error {
	select {
	case n.copying <- struct{}{}:
		return nil
	case <-time.After(backupPatience):
		return errors.New("stopped in the middle of a backup: a part of it is left")
	}
}
