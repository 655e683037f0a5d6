package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/status"
)

// Schedule says when a running relay makes backups by itself, where they go, and how they are made.
type Schedule struct {
	Dir   string // where they go; must exist
	Every time.Duration
	Keep  int    // how many stay, the newest; at least 1
	Rate  int64  // bytes a second; 0 is as fast as can be
	Name  string // the beginning of the files' names: other files in Dir are left alone
	Floor uint64 // bytes that stay free on its disk

	Make   func(context.Context, Start) error // writes one backup; fails with ErrRunning while another one is made
	Free   func(dir string) (uint64, error)   // returns how many bytes are free in dir
	Now    func() time.Time                   // the wall clock
	Logger *slog.Logger
}

// Scheduler makes backups while Run runs, at an interval, and keeps the newest so many. The backups on the disk decide when the next one is
// due: a Scheduler remembers nothing else.
type Scheduler struct {
	c Schedule

	mu  sync.Mutex // guards now
	now status.Backups
}

// NewScheduler prepares backups; Run makes them.
func NewScheduler(c Schedule) *Scheduler {
	return &Scheduler{c: c, now: status.Backups{Dir: status.Text(c.Dir), Every: status.Seconds{Duration: c.Every}, Keep: c.Keep}}
}

// Status returns the state of the backups.
func (b *Scheduler) Status() status.Backups {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *Scheduler) tell(change func(*status.Backups)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
}

// settle is how long Run leaves a relay alone that starts. lookTime is how often it looks at the clock and the directory, as both may change.
const (
	settle   = 5 * time.Second
	lookTime = time.Minute
)

// Run makes backups until ctx ends. It is called once.
func (b *Scheduler) Run(ctx context.Context) error {
	for wait := settle; sleep.For(ctx, wait) == nil; {
		wait = b.turn(ctx)
	}
	return nil
}

// turn does what is due now, and returns how long Run waits until the next turn.
func (b *Scheduler) turn(ctx context.Context) time.Duration {
	there, err := look(b.c.Dir, b.c.Name)
	if err != nil {
		return b.failed(ctx, err)
	}
	now := b.c.Now()
	old := surplus(now, b.c.Every, b.c.Keep, there.whole)
	stays := remove(b.c.Dir, slices.Concat(there.parts, old))
	if stays == nil {
		there.whole = slices.DeleteFunc(there.whole, func(w entire) bool { return slices.Contains(old, w.name) })
	}
	next := due(now, b.c.Every, there.whole)
	b.tell(func(s *status.Backups) {
		s.Kept, s.Bytes, s.Last = len(there.whole), status.Bytes(there.bytes()), status.Moment{Time: newest(there.whole)}
		s.Next = status.Moment{Time: next}
		if s.Cut = ""; len(there.cut) > 0 {
			s.Cut = status.Text(there.cut[0])
		}
	})
	if wait := next.Sub(now); wait <= 0 {
		return b.make(ctx, begins(b.c.Name, now, there.whole))
	} else if stays != nil {
		return min(wait, b.failed(ctx, fmt.Errorf("what is old stays: %w", stays)))
	} else {
		b.tell(func(s *status.Backups) { s.Failures, s.Cause, s.FailingSince = 0, "", status.Moment{} })
		return min(wait, lookTime)
	}
}

// make makes one backup, and returns how long Run waits until the next turn.
func (b *Scheduler) make(ctx context.Context, at time.Time) time.Duration {
	begun, name := time.Now(), nameAt(b.c.Name, at)
	b.tell(func(s *status.Backups) { s.Running = true })
	size, err := b.write(ctx, name)
	b.tell(func(s *status.Backups) { s.Running, s.Done, s.Size = false, 0, 0 })
	switch {
	case errors.Is(err, ErrRunning):
		return lookTime
	case err != nil:
		wait := b.failed(ctx, err)
		b.tell(func(s *status.Backups) { s.Next = status.Moment{Time: b.c.Now().Add(wait)} })
		return wait
	}
	b.tell(func(s *status.Backups) {
		s.Kept, s.Bytes, s.Last = s.Kept+1, s.Bytes+status.Bytes(size), status.Moment{Time: at}
	})
	b.c.Logger.Info("backup", "file", name, "bytes", size, "took", time.Since(begun).Round(time.Millisecond))
	return 0
}

// failed notes and logs a failure, and returns how long Run waits until it tries again.
func (b *Scheduler) failed(ctx context.Context, err error) (wait time.Duration) {
	if ctx.Err() != nil {
		return 0
	}
	b.tell(func(s *status.Backups) {
		s.Failures++
		if s.Cause = status.Text(err.Error()); s.Failures == 1 {
			s.FailingSince = status.Moment{Time: b.c.Now()}
		}
		wait = retryAfter(s.Failures, b.c.Every)
	})
	b.c.Logger.Error("a backup failed", "dir", b.c.Dir, "error", err, "wait", wait)
	return wait
}

// moved notes how much of the backup under way is written.
func (b *Scheduler) moved(done, size int64) {
	b.tell(func(s *status.Backups) { s.Done, s.Size = status.Bytes(done), status.Bytes(size) })
}
