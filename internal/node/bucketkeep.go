package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/latelog"
	"github.com/graspd/graspd/internal/events/store/snapshot"
	"github.com/graspd/graspd/internal/status"
)

// Pauses of a node that writes a bucket.
const (
	bucketLook    = 5 * time.Second  // between two looks whether another node leads
	bucketSight   = time.Minute      // between two looks whether a snapshot is due
	bucketRest    = 15 * time.Minute // after a snapshot that could not be made
	bucketSilence = 15 * time.Second // how long a bucket is away before somebody is told; as long as a client waits
	closePatience = 10 * time.Second // how long an end waits for a commit of which nothing is known
)

// keeper looks after the bucket of a node that writes it. One goroutine runs it; others ask for its problem.
type keeper struct {
	*Bucket
	log    *bucketlog.Log
	late   *latelog.Log // nil where each commit is in the bucket before somebody hears OK
	store  *store.Store
	dir    string // the data directory
	logger *slog.Logger

	told     bool               // somebody was told that the bucket is away
	last     snapshot.Snapshot  // the newest that counts, once known
	any      bool               // last is one
	known    bool               // last was looked for
	measured commitlog.Position // up to where bytes counts the log after last
	bytes    int64

	mu      sync.Mutex    // guards what follows
	failed  error         // why the last snapshot could not be made; nil where it could
	counted status.Bucket // when the last snapshot was made, and how much log there is since
}

// openLogged opens a store whose log is in a bucket, and begins to write that. Where something else has come into the log meanwhile, a late request
// of an earlier life or another node, it opens the store once more, which then has that too.
func openLogged(c Config) (*keeper, error) {
	for try := 1; ; try++ {
		log := bucketlog.New(c.Bucket.Objects)
		k := &keeper{Bucket: c.Bucket, log: log, dir: c.Dir, logger: c.Logger.With("component", "bucket")}
		c.Store.Log = log
		if err := k.beLate(&c.Store); err != nil {
			return nil, err
		}
		s, err := openOwnStore(c)
		if err != nil {
			k.end()
			return nil, err
		}
		k.store = s
		err = c.Bucket.lead(s, log, c.Service, c.Now())
		if err == nil {
			k.delay()
			return k, nil
		}
		err = errors.Join(err, s.Close())
		k.end()
		if !errors.Is(err, store.ErrDeposed) || try == leadTries {
			return nil, err
		}
	}
}

// run looks after the bucket until ctx ends, or another node leads.
func (k *keeper) run(ctx context.Context) error {
	look, sight := time.NewTicker(bucketLook), time.NewTimer(bucketSight/10)
	defer look.Stop()
	defer sight.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.store.Deposed():
			return k.deposed(ctx)
		case <-look.C:
			k.tell()
			if k.isDeposed(ctx) {
				return k.deposed(ctx)
			}
		case <-sight.C:
			pause := bucketSight
			if err := k.keepSnapshots(ctx); err != nil && ctx.Err() == nil {
				k.logger.Warn("no snapshot could be made", "error", err)
				pause = bucketRest
			}
			sight.Reset(pause)
		}
	}
}

// watch tells of the bucket of a node that follows, until ctx ends.
func (k *keeper) watch(ctx context.Context) error {
	look := time.NewTicker(bucketLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			k.tell()
		}
	}
}

// isDeposed looks whether another node has begun a term. A node that writes nothing would not hear of that.
func (k *keeper) isDeposed(ctx context.Context) bool {
	at := k.store.LogPlace()
	x, err := k.log.Read(ctx, k.inBucket(at)+1)
	if err != nil {
		return false
	}
	body, err := commitlog.ParseHeader(x.Body)
	return err == nil && body.Term > at.Term
}

// deposed says who leads now.
func (k *keeper) deposed(ctx context.Context) error {
	ctx, over := context.WithTimeout(ctx, bucketSilence)
	defer over()
	who := "another node"
	x, err := k.log.Extent(ctx, k.inBucket(k.store.LogPlace()))
	if err == nil {
		var l Leader
		if l, _, err = leaderAt(ctx, k.log, x.Last); err == nil {
			who = l.String()
		}
	}
	if err != nil {
		k.logger.Debug("who leads is not known", "error", err)
	}
	return fmt.Errorf("%w: %s writes the bucket %s now", store.ErrDeposed, who, k.Name)
}

// tell logs that the bucket is away, and that it is back.
func (k *keeper) tell() {
	s := k.Objects.Stats()
	away := !s.Since.IsZero() && time.Since(s.Since) >= bucketSilence
	switch {
	case away && !k.told:
		k.logger.Error("the bucket does not answer, nothing is stored", "bucket", k.Name, "since", s.Since.UTC(), "error", s.Last)
	case !away && k.told && s.Since.IsZero():
		k.logger.Info("the bucket answers again", "bucket", k.Name)
	default:
		return
	}
	k.told = away
}

// Problem says what the operator should mend; "" where nothing is.
func (k *keeper) Problem() string {
	s := k.Objects.Stats()
	if !s.Since.IsZero() && time.Since(s.Since) >= bucketSilence {
		return fmt.Sprintf("the bucket %s does not answer since %s: what people publish is refused after %v, pushes wait, and reading goes on: %v",
			k.Name, s.Since.UTC().Format(time.RFC3339), bucketSilence, s.Last)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return fmt.Sprintf("no snapshot of the store could be put into the bucket, so that its log grows: %v", k.failed)
	}
	return ""
}

// keepSnapshots makes a snapshot where one is due, and removes what nobody needs any more.
func (k *keeper) keepSnapshots(ctx context.Context) error {
	err := k.snapshotDue(ctx)
	if ctx.Err() == nil {
		k.mu.Lock()
		k.failed = err
		k.mu.Unlock()
	}
	return err
}

func (k *keeper) snapshotDue(ctx context.Context) error {
	at := k.store.LogPlace()
	due, err := k.sight(ctx, at)
	if err != nil || !due.Due() {
		return err
	}
	began := time.Now()
	m := snapshot.Maker{Objects: k.Objects, Word: trialWord()}
	s, err := m.Make(ctx, wholly{k}, filepath.Join(k.dir, snapshotDir))
	if err != nil {
		return err
	}
	k.last, k.any, k.measured, k.bytes = s, true, commitlog.Position(s.Place.Position), 0
	k.count()
	k.logger.Info("a snapshot is in the bucket", "position", s.Place.Position, "files", len(s.Files), "bytes", s.Bytes(), "took", time.Since(began).Round(time.Second/10))
	t, err := snapshot.Trim(ctx, k.Objects, k.store.LogPlace())
	if err != nil {
		return err
	}
	if t.Below > 0 {
		k.logger.Info("the beginning of the commit log is removed", "below", t.Below, "commits", t.Commits, "objects", t.Objects)
	}
	return nil
}

// count has others see what is known of snapshots.
func (k *keeper) count() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counted = status.Bucket{Log: status.Bytes(k.bytes), Snapshot: status.Moment{Time: k.last.Made}}
}

// Status says how the bucket stands, but for packs.
func (k *keeper) Status() status.Bucket {
	k.mu.Lock()
	b := k.counted
	k.mu.Unlock()
	at, s := k.store.LogPlace(), k.Objects.Stats()
	b.Name, b.Position, b.Term, b.Away = status.Text(k.Name), uint64(k.inBucket(at)), at.Term, status.Moment{Time: s.Since}
	b.Late, b.LateSince = k.waits()
	if s.Last != nil {
		b.Error = status.Text(s.Last.Error())
	}
	for _, r := range s.By {
		for _, n := range r.Took.Classes {
			b.Requests += n
		}
		b.Failed += r.Failed
	}
	return b
}

// Asked counts what the bucket was asked.
func (k *keeper) Asked() [len(objects.Kinds)]objects.Requests { return k.Objects.Stats().By }

// snapshotDir is the copy, in the data directory, of which a snapshot is made. A kill may leave it, and the next snapshot removes it.
const snapshotDir = "snapshot.tmp"

// sight looks how much the log has after the last snapshot. It asks for nothing while nothing is new.
func (k *keeper) sight(ctx context.Context, at store.Place) (s snapshot.Sight, err error) {
	if !k.known {
		k.last, err = snapshot.Newest(ctx, k.Objects)
		if err != nil && !errors.Is(err, snapshot.ErrNone) {
			return s, err
		}
		k.any = err == nil
		k.known, k.measured = true, commitlog.Position(k.last.Place.Position)
	}
	if commitlog.Position(at.Position) > k.measured {
		x, err := k.log.Extent(ctx, k.measured)
		if err != nil {
			return s, err
		}
		k.measured, k.bytes = max(k.measured, x.Last), k.bytes+x.Bytes
	}
	k.count()
	s = snapshot.Sight{Any: k.any, Log: k.bytes, Store: int64(k.store.Stats().DiskBytes)}
	if k.any {
		s.Since = time.Since(k.last.Made)
	}
	return s, nil
}
