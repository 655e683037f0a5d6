package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/snapshot"
)

// Where Init works in the data directory, and where it leaves the store as it was.
const (
	initDir    = "bucket-init.tmp"
	beforeName = ".before-bucket"
)

// initWord is the word of the snapshot of Init, so that one that was interrupted goes on where it was.
const initWord = "init"

// Init puts the store and the git data of a data directory, which no node has open, into an empty bucket, and has the directory belong to that: its
// store stays beside, under the name that Init returns. packs and show hear how many bytes of each are there. An Init that was interrupted may be begun
// again. It fails with ErrHasLog where the bucket has a relay.
func (b *Bucket) Init(ctx context.Context, data string, o store.Options, packs, show func(done, all int64)) (before string, err error) {
	if err := objects.Try(ctx, b.Objects, "trial/"+trialWord()+"-"); err != nil {
		return "", err
	}
	there, err := b.see(ctx)
	if err != nil {
		return "", err
	}
	s, err := OpenStore(data, o)
	if err != nil && there.log {
		err = errors.Join(ErrHasLog, err)
	}
	if err != nil {
		return "", err
	}
	if there.log {
		if err := errors.Join(b.isFilled(ctx, s, filepath.Join(data, initDir)), s.Close()); err != nil {
			return "", err
		}
		return swapIn(data)
	}
	err = b.fill(ctx, s, data, packs, show)
	if err = errors.Join(err, s.Close()); err != nil {
		return "", err
	}
	return swapIn(data)
}

// fill puts a copy of a store into the bucket. The copy, which then belongs to the bucket's log, stays in initDir.
func (b *Bucket) fill(ctx context.Context, s *store.Store, data string, packs, show func(done, all int64)) error {
	dir := filepath.Join(data, initDir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := s.Copy(dir); err != nil {
		return err
	}
	if err := b.putPacks(ctx, data, dir, packs); err != nil {
		return err
	}
	first, err := store.Enlist(store.Options{Dir: dir}, newLeader(b, "", time.Now()))
	if err != nil {
		return err
	}
	m := snapshot.Maker{Objects: b.Objects, Word: initWord, Progress: show}
	if _, err := m.Put(ctx, dir); err != nil {
		return err
	}
	if err := b.shareKey(ctx, data); err != nil {
		return err
	}
	err = commitlog.Settle(ctx, bucketlog.New(b.Objects), first, commitlog.Chain{})
	if errors.Is(err, commitlog.ErrOther) {
		err = ErrHasLog
	}
	return err
}

// isFilled fails unless the bucket has what is in a copy of a store, and nothing more: an Init was interrupted at its very end.
func (b *Bucket) isFilled(ctx context.Context, s *store.Store, dir string) error {
	at, err := store.PlaceIn(store.Options{Dir: dir})
	if err != nil {
		return ErrHasLog
	}
	log := bucketlog.New(b.Objects)
	x, err := log.Extent(ctx, 0)
	if err != nil {
		return err
	}
	last, err := log.Read(ctx, x.Last)
	if err != nil {
		return err
	}
	body, err := commitlog.ParseHeader(last.Body)
	if err == nil && (uint64(x.Last) != at.Position || last.Chain != at.Chain || body.Head != uint64(s.Head())) {
		err = ErrHasLog
	}
	return err
}

// swapIn puts the copy into the place of the store.
func swapIn(data string) (before string, err error) {
	dir := StoreIn(data)
	before = dir + beforeName
	held, err := store.Hold(dir)
	if err != nil {
		return "", fmt.Errorf("the bucket is filled, but the data directory is not of it yet: %w", err)
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if _, err := os.Lstat(before); !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(err, &fs.PathError{Op: "move the store to", Path: before, Err: fs.ErrExist})
	}
	if err := os.Rename(dir, before); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(data, initDir), dir); err != nil {
		return "", errors.Join(err, os.Rename(before, dir))
	}
	return before, syncDir(data)
}

// Export makes a data directory of what a bucket has of a relay: a complete one, which belongs to no bucket. show and packs hear how many bytes of the
// store and of the git data have come. wrong says of which repositories not all has come.
func (b *Bucket) Export(ctx context.Context, dir string, o store.Options, show, packs func(done, all int64)) (wrong []error, err error) {
	there, err := b.see(ctx)
	if err == nil && !there.log {
		err = ErrNoBucket
	}
	if err != nil {
		return nil, err
	}
	err = NewCopy(dir, func(partial string) error {
		if there.snapshots {
			if err := b.restore(ctx, Config{Dir: partial, Store: o}.withDefaults(), show); err != nil {
				return err
			}
		}
		o.Log = bucketlog.New(b.Objects)
		s, err := OpenStore(partial, o)
		if err != nil {
			return err
		}
		wrong, err = b.bringPacks(ctx, s, partial, o.Floor, packs)
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		if err := standAlone(ctx, partial, o); err != nil {
			return err
		}
		key, err := b.readKey(ctx)
		if err != nil {
			return err
		}
		return NewKeyFile(filepath.Join(partial, keyFile), key)
	})
	return wrong, err
}

// BucketStatus says what a bucket has of a relay.
type BucketStatus struct {
	Leader    Leader
	Term      uint64
	Log       bucketlog.Extent
	Snapshots []snapshot.Snapshot // that count, the newest first
	Wrong     []error             // what else there is of snapshots, and cannot be read
}

// Status reads what a bucket has, with or without a node that writes it.
func (b *Bucket) Status(ctx context.Context) (s BucketStatus, err error) {
	log := bucketlog.New(objects.Patient{Store: b.Objects})
	if s.Log, err = log.Extent(ctx, 0); err != nil {
		return s, err
	}
	if s.Log.Entries == 0 {
		there, err := b.see(ctx)
		switch {
		case err != nil:
			return s, err
		case there.snapshots:
			return s, ErrCut
		}
		return s, ErrNoBucket
	}
	if s.Leader, s.Term, err = leaderAt(ctx, log, s.Log.Last); err != nil {
		return s, err
	}
	s.Snapshots, s.Wrong, err = snapshot.All(ctx, b.Objects)
	return s, err
}
