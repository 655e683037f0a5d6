package node

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/snapshot"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Bucket says where a node keeps the commit log of its store, snapshots of it, and its key. With one, what is on the disk can be had again.
type Bucket struct {
	Objects *objects.Watched
	Name    string // where it is, for people
	Host    string // the name of this machine, for people
	URL     string // by which the other nodes reach this one; "" where there are none

	// Commit is how late a commit may come into the bucket that somebody has heard OK for; 0 is never. Until then it is on the disk alone. It is for a
	// node that is alone.
	Commit time.Duration
}

// Errors of buckets that callers tell apart.
var (
	ErrEnlist   = errors.New("the data directory has a store that is in no bucket, and the bucket is empty")
	ErrOthers   = errors.New("the data directory and the bucket have nothing to do with each other")
	ErrNoBucket = errors.New("the bucket has no relay")
	ErrHasLog   = errors.New("the bucket has a relay already")
	ErrCut      = errors.New("the bucket was being filled, and that was interrupted")
)

// Leader is what a node says of itself in the commit that begins its term.
type Leader struct {
	Domain string    `json:"domain"` // under which announcements list the service; "" of a commit that no node has made
	Host   string    `json:"host"`
	At     time.Time `json:"at"`
	ID     string    `json:"id"`            // no two terms have the same
	URL    string    `json:"url,omitempty"` // by which other nodes reach it
}

func newLeader(b *Bucket, domain string, now time.Time) []byte {
	text, err := json.Marshal(Leader{Domain: domain, Host: b.Host, At: now.UTC().Truncate(time.Second), ID: rand.Text(), URL: b.URL})
	if err != nil { // of strings and a time
		panic(err)
	}
	return text
}

// String says who leads, for people.
func (l Leader) String() string {
	text := l.Host
	if l.Domain != "" {
		text += ", for " + l.Domain
	}
	return text + ", since " + l.At.Format(time.RFC3339)
}

// Prepare makes a data directory fit for its bucket before New: it tries the bucket, restores an empty directory from it, and brings the relay's key
// to where it lacks. show hears how many bytes of a restore are there. Prepare refuses a directory and a bucket that do not belong together. Without
// a bucket it does nothing.
func Prepare(ctx context.Context, c Config, show func(done, all int64)) error {
	if c.Bucket == nil {
		return nil
	}
	if err := c.Bucket.prepare(ctx, c.withDefaults(), show); err != nil {
		return fmt.Errorf("the bucket %s: %w", c.Bucket.Name, err)
	}
	return nil
}

func (b *Bucket) prepare(ctx context.Context, c Config, show func(done, all int64)) error {
	if err := objects.Try(ctx, b.Objects, "trial/"+trialWord()+"-"); err != nil {
		return err
	}
	if err := b.putLeft(ctx, c); err != nil {
		return err
	}
	s, err := b.see(ctx)
	if err != nil {
		return err
	}
	here, err := lookIn(c.Dir)
	if err != nil {
		return err
	}
	restores, err := fits(here, s)
	if err != nil {
		return err
	}
	if restores {
		if err := b.restore(ctx, c, show); err != nil {
			return err
		}
	}
	return b.shareKey(ctx, c.Dir)
}

// here is what a data directory has.
type here uint8

const (
	nothing  here = iota
	alone         // a store that belongs to no log
	enlisted      // a store that belongs to a log
)

// seen is what a bucket has of a relay.
type seen struct{ log, snapshots bool }

// fits decides whether a data directory is to be restored from its bucket. It fails where the two do not go together.
func fits(h here, s seen) (restores bool, err error) {
	switch {
	case !s.log && s.snapshots:
		return false, ErrCut
	case h == nothing:
		return s.log && s.snapshots, nil // a log without a snapshot is read from its beginning
	case h == alone && !s.log:
		return false, ErrEnlist
	case h == alone:
		return false, fmt.Errorf("%w: the bucket has a relay, and the directory another one, which is in no bucket", ErrOthers)
	case !s.log:
		return false, fmt.Errorf("%w: the directory is of a relay in a bucket, and this one is empty", ErrOthers)
	}
	return false, nil
}

// see looks what a bucket has.
func (b *Bucket) see(ctx context.Context) (s seen, err error) {
	ctx, over := context.WithTimeout(ctx, time.Minute)
	defer over()
	if s.log, err = bucketlog.New(objects.Patient{Store: b.Objects}).Any(ctx); err != nil {
		return s, err
	}
	s.snapshots, err = snapshot.Any(ctx, b.Objects)
	return s, err
}

// lookIn looks what a data directory has.
func lookIn(dir string) (here, error) {
	at, err := store.PlaceIn(store.Options{Dir: StoreIn(dir)})
	switch {
	case errors.Is(err, store.ErrNone), errors.Is(err, fs.ErrNotExist):
		return nothing, nil
	case err != nil:
		return nothing, err
	case at.Position == 0:
		return alone, nil
	}
	return enlisted, nil
}

// InBucket reports whether a data directory has a store that is also in a bucket.
func InBucket(dir string) bool {
	h, err := lookIn(dir)
	return err == nil && h == enlisted
}

// restore makes a store of the newest snapshot that is whole.
func (b *Bucket) restore(ctx context.Context, c Config, show func(done, all int64)) error {
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	dir := StoreIn(c.Dir)
	if err := os.RemoveAll(dir); err != nil { // it has no store
		return err
	}
	all, wrong, err := snapshot.All(ctx, b.Objects)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.Join(append([]error{snapshot.ErrNone}, wrong...)...)
	}
	r := snapshot.Restorer{Objects: b.Objects, Progress: show, Room: roomIn(c.Dir, c.Store.Floor)}
	for _, s := range all {
		c.Logger.Info("the data directory is filled from the bucket", "position", s.Place.Position, "bytes", s.Bytes(), "made", s.Made.UTC())
		err := r.Restore(ctx, s, dir)
		if err == nil {
			return nil
		}
		wrong = append(wrong, err)
		if !errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, objects.ErrNone) && !errors.Is(err, store.ErrDamaged) {
			break
		}
		c.Logger.Warn("a snapshot is not whole, the one before is tried", "error", err)
	}
	return errors.Join(wrong...)
}

// roomIn returns what fails where so many bytes more would leave less free than the floor.
func roomIn(dir string, floor uint64) func(int64) error {
	return func(bytes int64) error {
		s, err := store.SpaceIn(dir)
		if err == nil && s.Free < uint64(bytes)+floor {
			err = fmt.Errorf("%w: %d MiB are needed in %s", store.ErrFull, (uint64(bytes)+floor)>>20, dir)
		}
		return err
	}
}

// Refill fills a data directory anew whose store is so far behind that the log has lost what comes next. The store stays beside until the next time.
func Refill(ctx context.Context, c Config, show func(done, all int64)) error {
	c = c.withDefaults()
	behind := StoreIn(c.Dir) + ".behind"
	if err := os.RemoveAll(behind); err != nil {
		return err
	}
	if err := os.Rename(StoreIn(c.Dir), behind); err != nil {
		return err
	}
	c.Logger.Warn("the store is too far behind its log, which has lost what comes next: it is filled anew from the bucket", "old", behind)
	if err := c.Bucket.restore(ctx, c, show); err != nil {
		return fmt.Errorf("the bucket %s: %w", c.Bucket.Name, err)
	}
	return nil
}

// isOf fails where the log is of another service.
func (b *Bucket) isOf(s *store.Store, service grasp.Service) error {
	before, err := leaderBefore(s)
	if err != nil {
		return err
	}
	if domain := service.ServerName(); before.Domain != "" && before.Domain != domain {
		return fmt.Errorf("%w: the bucket %s has %s, and this relay is to be %s", ErrOthers, b.Name, before.Domain, domain)
	}
	return nil
}

// lead checks that the log is of this service, and begins a term. A bucket that is gone meanwhile ends that after a while.
func (b *Bucket) lead(s *store.Store, log *bucketlog.Log, service grasp.Service, now time.Time) error {
	if err := b.isOf(s, service); err != nil {
		return err
	}
	late := time.AfterFunc(leadPatience, log.Close)
	defer late.Stop()
	if _, err := s.Lead(newLeader(b, service.ServerName(), now)); err != nil {
		return fmt.Errorf("begin to write the bucket %s: %w", b.Name, errors.Join(err, b.Objects.Stats().Last))
	}
	return nil
}

// leadPatience is how long a start waits for a bucket that has answered just before, and leadTries how often it tries to lead where something else
// comes into the log.
const (
	leadPatience = time.Minute
	leadTries    = 10
)

// leaderBefore returns who led last.
func leaderBefore(s *store.Store) (Leader, error) {
	v := s.View()
	defer v.Close()
	by, err := v.Leader()
	if err != nil || by == nil {
		return Leader{}, err
	}
	return readLeader(by)
}

func readLeader(by []byte) (l Leader, err error) {
	if err := json.Unmarshal(by, &l); err != nil {
		return l, fmt.Errorf("who leads: %w", err)
	}
	return l, nil
}

// leaderAt reads who began the term of an entry of a log.
func leaderAt(ctx context.Context, log *bucketlog.Log, at commitlog.Position) (l Leader, term uint64, err error) {
	x, err := log.Read(ctx, at)
	if err != nil {
		return l, 0, err
	}
	by, begins, err := store.BeginsTerm(x)
	if err != nil {
		return l, 0, err
	}
	header, err := commitlog.ParseHeader(x.Body)
	if err == nil && !begins {
		if x, err = log.Read(ctx, commitlog.Position(header.Began)); err == nil {
			by, _, err = store.BeginsTerm(x)
		}
	}
	if err != nil {
		return l, 0, err
	}
	l, err = readLeader(by)
	return l, header.Term, err
}

// trialWord is a name that no other trial has.
func trialWord() string { return strings.ToLower(rand.Text()) }
