package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/kv"
)

// Restorer makes stores of snapshots.
type Restorer struct {
	Objects  objects.Store
	FS       vfs.FS                  // nil is the disk
	Room     func(bytes int64) error // fails where there is no room for so many bytes; nil is always
	Progress func(done, all int64)   // hears how many bytes are there; nil is nobody
}

// suffix is what the name of a directory ends with until it has a whole store.
const suffix = ".restoring"

// Restore makes the store in dir, which must not be there, of a snapshot. It works in another directory until all is there, was compared with the
// snapshot's list, was opened and is durable. A Restore that was interrupted goes on where it was. It fails with ErrDamaged where the object store
// does not have what the list says; objects.ErrNone where a file is gone.
func (r Restorer) Restore(ctx context.Context, s Snapshot, dir string) error {
	r.Objects = objects.Patient{Store: r.Objects}
	if r.FS == nil {
		r.FS = vfs.Default
	}
	if r.Progress == nil {
		r.Progress = func(int64, int64) {}
	}
	if err := r.bring(ctx, s, dir); err != nil {
		return fmt.Errorf("restore the snapshot at position %d: %w", s.Place.Position, err)
	}
	return nil
}

func (r Restorer) bring(ctx context.Context, s Snapshot, dir string) error {
	if there, err := kv.Exists(r.FS, dir); err != nil || there {
		return errors.Join(err, fmt.Errorf("%s: %w", dir, fs.ErrExist))
	}
	if r.Room != nil {
		if err := r.Room(s.Bytes()); err != nil {
			return err
		}
	}
	partial := dir + suffix
	if err := r.tidy(s, partial); err != nil {
		return err
	}
	if err := r.fetch(ctx, s, partial); err != nil {
		return err
	}
	at, err := store.PlaceIn(store.Options{Dir: partial, FS: kv.Unlocked{FS: r.FS}})
	if err == nil && at != s.Place {
		err = fmt.Errorf("%w: it is of position %d", ErrDamaged, at.Position)
	}
	if err != nil {
		return errors.Join(err, r.FS.RemoveAll(partial))
	}
	if err := errors.Join(syncDirectory(r.FS, partial), r.FS.Rename(partial, dir)); err != nil {
		return err
	}
	return kv.SyncParent(r.FS, dir)
}

// tidy makes the directory, and removes what is no file of the snapshot.
func (r Restorer) tidy(s Snapshot, partial string) error {
	if err := r.FS.MkdirAll(partial, 0o700); err != nil {
		return err
	}
	names, err := r.FS.List(partial)
	for _, name := range names {
		if !slices.ContainsFunc(s.Files, func(f File) bool { return f.Name == name }) {
			err = errors.Join(err, r.FS.RemoveAll(r.FS.PathJoin(partial, name)))
		}
	}
	return err
}

// fetch gets all files that are not there as the list says.
func (r Restorer) fetch(ctx context.Context, s Snapshot, partial string) error {
	all := s.Bytes()
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, f := range s.Files {
		work.Go(func() error {
			if there, err := describeFile(r.FS, partial, f.Name); err != nil || there != f {
				if err := r.fetchFile(ctx, s.object(f), r.FS.PathJoin(partial, f.Name), f); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
			}
			r.Progress(done.Add(f.Size), all)
			return nil
		})
	}
	return work.Wait()
}

// fetchFile gets a file, and makes it durable.
func (r Restorer) fetchFile(ctx context.Context, name, path string, f File) error {
	file, err := r.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(proveFile(ctx, r.Objects, name, f, io.Writer(file)), file.Sync(), file.Close())
}

func syncDirectory(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
