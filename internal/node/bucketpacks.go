package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
)

// Pauses of a start that makes repositories ready.
const (
	readyTold  = 10 * time.Second // between two lines of the log that say how far it is
	readyAgain = 5 * time.Second  // before a bucket is asked again that does not answer
)

// wrongTold is how many repositories that have lost something are told one by one.
const wrongTold = 20

// readyPacks makes the repositories of a node with a bucket ready, before anything is decided: their indexes come from the bucket, and packs that lie
// in the data directory alone go there. It waits for a bucket that does not answer, until ctx ends.
func (k *keeper) readyPacks(ctx context.Context, packs *hosting.Kept) error {
	// A commit waits for its bucket whatever becomes of ctx.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closePatience, k.log.Close) })()
	began := time.Now()
	told := began
	progress := func(done, all int64) {
		if now := time.Now(); now.Sub(told) >= readyTold {
			told = now
			k.logger.Info("repositories are made ready for their bucket", "left", all-done, "repositories", all)
		}
	}
	for {
		wrong, err := packs.Ready(ctx, k.store, progress)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrDeposed):
			return k.deposed(ctx)
		case errors.Is(err, depot.ErrUnanswered):
			k.logger.Warn("repositories cannot be made ready yet, as the bucket does not answer", "bucket", k.Name, "error", err)
			if sleep.For(ctx, readyAgain) != nil {
				return nil
			}
		case err != nil:
			return fmt.Errorf("the bucket %s: %w", k.Name, err)
		default:
			k.tellReady(wrong, began, told != began)
			return nil
		}
	}
}

// tellReady logs what repositories have lost, and that all others are ready where somebody was told that they are not.
func (k *keeper) tellReady(wrong []error, began time.Time, told bool) {
	for _, one := range wrong[:min(len(wrong), wrongTold)] {
		k.logger.Error("a repository has lost git data", "error", one)
	}
	if len(wrong) > wrongTold {
		k.logger.Error("more repositories have lost git data", "count", len(wrong)-wrongTold)
	}
	if told {
		k.logger.Info("repositories are ready", "took", time.Since(began).Round(time.Second/10))
	}
}

// putPacks puts the git data of a data directory into the bucket, and says so in a copy of its store.
func (b *Bucket) putPacks(ctx context.Context, data, copied string, show func(done, all int64)) (err error) {
	disk, err := gitDataIn(data)
	if disk == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	s, err := openStoreAt(store.Options{Dir: copied})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	wrong, err := hosting.Adopt(ctx, s, disk, depot.New(depot.Config{Objects: b.Objects, Rows: s, Term: 1, Again: true}), show)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("the data directory lacks git data of %s: graspd check --repair goes on with what is whole: %w", safetext.Number(len(wrong), "repository", "repositories"), wrong[0])
	}
	return err
}

// gitDataIn opens the repositories in a data directory for reading; nil where it has none. No git is run.
func gitDataIn(data string) (*gitrepo.Disk, error) {
	if _, err := os.Stat(GitIn(data)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return gitrepo.Open(gitrepo.Config{Dir: GitIn(data), ReadOnly: true})
}

// bringPacks brings all git data that the bucket has of a store into a data directory, durably. wrong says of which repositories not all of it came.
func (b *Bucket) bringPacks(ctx context.Context, s *store.Store, data string, floor uint64, show func(done, all int64)) (wrong []error, err error) {
	d := depot.New(depot.Config{Objects: b.Objects, Rows: s})
	full := roomIn(data, floor)
	disk, err := gitrepo.Open(gitrepo.Config{Dir: GitIn(data), Depot: d, Room: func() error { return full(0) }})
	if err != nil {
		return nil, err
	}
	wrong, err = hosting.NewKept(d, disk).Whole(ctx, s, show)
	if err = errors.Join(err, disk.Close()); err != nil {
		return wrong, err
	}
	return wrong, filepath.WalkDir(GitIn(data), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = syncDir(path)
		}
		return err
	})
}

// ErrCold says that a data directory has not all of its git data.
var ErrCold = errors.New("git data is in the bucket alone")

// inDirectory fails with ErrCold where a data directory lacks packs that its store says are in a bucket.
func inDirectory(data string, o store.Options) (err error) {
	disk, err := gitDataIn(data)
	if err != nil {
		return err
	}
	if disk != nil {
		defer func() { err = errors.Join(err, disk.Close()) }()
	}
	o.Dir, o.ReadOnly = StoreIn(data), true
	s, err := openStoreAt(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	repositories, bytes, err := hosting.Away(s, disk)
	if err == nil && repositories > 0 {
		err = fmt.Errorf("%w: of %s, %d MiB", ErrCold, safetext.Number(repositories, "repository", "repositories"), bytes>>20+1)
	}
	return err
}

// standAlone makes a copy of a data directory, whose git data is whole, belong to no bucket.
func standAlone(ctx context.Context, data string, o store.Options) error {
	o.Dir, o.Log = StoreIn(data), nil
	if err := store.StandAlone(o); err != nil {
		return err
	}
	s, err := openStoreAt(o)
	if err != nil {
		return err
	}
	return errors.Join(hosting.Alone(ctx, s), s.Close())
}
