package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
)

// Maker makes snapshots.
type Maker struct {
	Objects  objects.Store
	FS       vfs.FS // nil is the disk
	Now      func() time.Time
	Word     string                // tells the files of one try from those of another at the same position; with the same word a try goes on where it was
	Progress func(done, all int64) // hears how many bytes were put, and then read back; nil is nobody
}

// Make makes a snapshot of a store, by way of a copy in dir, which it removes. It returns once the snapshot is there. The log has all that the copy has
// once Copy returns.
func (m Maker) Make(ctx context.Context, s interface{ Copy(dir string) error }, dir string) (_ Snapshot, err error) {
	if err := m.withDefaults().FS.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, fmt.Errorf("make a snapshot: %w", err)
	}
	if err := s.Copy(dir); err != nil {
		return Snapshot{}, fmt.Errorf("make a snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, m.withDefaults().FS.RemoveAll(dir)) }()
	return m.Put(ctx, dir)
}

// Put makes a snapshot of a closed store of a log, which nobody opens to write meanwhile.
func (m Maker) Put(ctx context.Context, dir string) (Snapshot, error) {
	m = m.withDefaults()
	s, err := m.describe(dir)
	if err == nil {
		err = m.carry(ctx, dir, s)
	}
	if err == nil {
		err = m.conclude(ctx, s)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("make a snapshot: %w", err)
	}
	return s, nil
}

func (m Maker) withDefaults() Maker {
	m.Objects = objects.Patient{Store: m.Objects}
	if m.FS == nil {
		m.FS = vfs.Default
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.Progress == nil {
		m.Progress = func(int64, int64) {}
	}
	return m
}

// describe opens the copy, and reads all of it.
func (m Maker) describe(dir string) (Snapshot, error) {
	at, err := store.PlaceIn(store.Options{Dir: dir, FS: m.FS})
	if err != nil {
		return Snapshot{}, err
	}
	if at.Position == 0 {
		return Snapshot{}, errors.New("the store has nothing of a log")
	}
	s := Snapshot{Place: at, Made: m.Now(), under: fmt.Sprintf("%s%020d-%s/", filePrefix, at.Position, m.Word)}
	names, err := m.FS.List(dir)
	if err != nil {
		return Snapshot{}, err
	}
	for _, name := range names {
		if name == "LOCK" || !isFileName(name) {
			continue
		}
		f, err := describeFile(m.FS, dir, name)
		if err != nil {
			return Snapshot{}, err
		}
		s.Files = append(s.Files, f)
	}
	return s, nil
}

func describeFile(fsys vfs.FS, dir, name string) (File, error) {
	f, err := fsys.Open(fsys.PathJoin(dir, name))
	if err != nil {
		return File{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return File{Name: name, Size: n, Hash: Hash(h.Sum(nil))}, errors.Join(err, f.Close())
}

// carry puts all files, and reads each back.
func (m Maker) carry(ctx context.Context, dir string, s Snapshot) error {
	all := 2 * s.Bytes()
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, f := range s.Files {
		work.Go(func() error {
			if err := m.putFile(ctx, dir, s.object(f), f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			m.Progress(done.Add(f.Size), all)
			if err := proveFile(ctx, m.Objects, s.object(f), f, io.Discard); err != nil {
				return fmt.Errorf("read %s back: %w", f.Name, err)
			}
			m.Progress(done.Add(f.Size), all)
			return nil
		})
	}
	return work.Wait()
}

// putFile puts a file, unless it is there: reading it back shows whether it is right.
func (m Maker) putFile(ctx context.Context, dir, name string, f File) (err error) {
	there, err := m.Objects.Head(ctx, name)
	if err == nil && there.Size == f.Size {
		return nil
	}
	if err != nil && !errors.Is(err, objects.ErrNone) {
		return err
	}
	file, err := m.FS.Open(m.FS.PathJoin(dir, f.Name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = m.Objects.Put(ctx, name, io.NewSectionReader(file, 0, f.Size))
	return err
}

// proveFile reads the object of a file, which must have what the list says, into w.
func proveFile(ctx context.Context, o objects.Store, name string, f File, w io.Writer) error {
	h := sha256.New()
	err := copyOut(ctx, o, name, f.Size, io.MultiWriter(h, w))
	if err == nil && Hash(h.Sum(nil)) != f.Hash {
		err = fmt.Errorf("%w: %s has another content", ErrDamaged, name)
	}
	return err
}

// conclude puts the list, and reads it back.
func (m Maker) conclude(ctx context.Context, s Snapshot) error {
	text, err := s.encode()
	if err != nil {
		return err
	}
	if _, err := m.Objects.Put(ctx, s.name(), bytes.NewReader(text)); err != nil {
		return err
	}
	var there bytes.Buffer
	if err := copyOut(ctx, m.Objects, s.name(), -1, &there); err != nil {
		return fmt.Errorf("read its list back: %w", err)
	}
	if !bytes.Equal(there.Bytes(), text) {
		return fmt.Errorf("%s is there with another content: another process has made that snapshot", s.name())
	}
	return nil
}
