package node

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/latelog"
	"github.com/graspd/graspd/internal/status"
)

// lateIn is where a data directory has the commits that the bucket does not have yet.
func lateIn(dir string) string { return filepath.Join(dir, "late-commits") }

// putLeft puts into the bucket what an earlier life has left in the data directory. It is the first thing that is done with either.
func (b *Bucket) putLeft(ctx context.Context, c Config) error {
	ctx, over := context.WithTimeout(ctx, leadPatience)
	defer over()
	n, err := latelog.Put(ctx, lateIn(c.Dir), bucketlog.New(b.Objects))
	if err != nil {
		return fmt.Errorf("what somebody has heard OK for, and the bucket does not have: %w", err)
	}
	if n > 0 {
		c.Logger.Info("the bucket has what came last now", "commits", n)
	}
	return nil
}

// beLate has a store commit to the disk before the bucket, once it leads, where that is wanted.
func (k *keeper) beLate(o *store.Options) (err error) {
	if k.Commit == 0 {
		return nil
	}
	if k.late, err = latelog.New(lateIn(k.dir), k.log, k.Commit); err == nil {
		o.Log = k.late
	}
	return err
}

func (k *keeper) delay() {
	if k.late != nil {
		k.late.Delay()
	}
}

// end ends what carries late commits, once the store is closed. What the bucket does not take in time is put at the next start.
func (k *keeper) end() {
	if k.late != nil {
		ctx, over := context.WithTimeout(context.Background(), closePatience)
		defer over()
		k.late.Close(ctx)
	}
}

// wholly copies the store of a keeper once the bucket has all that the copy has.
type wholly struct{ k *keeper }

func (w wholly) Copy(dir string) error {
	if err := w.k.store.Copy(dir); err != nil || w.k.late == nil {
		return err
	}
	ctx, over := context.WithTimeout(context.Background(), bucketRest)
	defer over()
	return w.k.late.Flush(ctx)
}

// waits returns how many commits are on this disk alone, and since when the first one is.
func (k *keeper) waits() (count int, since status.Moment) {
	if k.late == nil {
		return 0, since
	}
	count, at := k.late.Waits()
	return count, status.Moment{Time: at}
}

// inBucket is the last commit that the bucket has, where the store is at a place.
func (k *keeper) inBucket(at store.Place) commitlog.Position {
	n, _ := k.waits()
	return commitlog.Position(at.Position - uint64(n))
}
