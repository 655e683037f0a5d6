// Package latelog has a log of commits of which the newest lie on one disk alone for a moment. A commit is done once a file has it; soon after
// another log, which is slower, takes it. Read Log first. The package never decides which commit comes next: where the other log has something else,
// what waits here has no place any more.
package latelog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Log is a commitlog.Log that has another one take commits late. Until Delay it hands each to the other log at once. Positions come in order.
type Log struct {
	dir    string
	under  commitlog.Log
	within time.Duration
	stop   context.CancelFunc
	over   chan struct{} // closed once nothing is carried any more
	work   sync.WaitGroup

	writing sync.Mutex // held while a commit is written

	mu      sync.Mutex // guards all below
	late    bool
	upTo    commitlog.Position // the last position that was written to the disk
	waiting []waiting          // in order of positions
	other   *commitlog.Entry   // what is where the first of waiting was to be; nil is nothing
	moved   chan struct{}      // closed when that changes
}

// waiting is a commit that the other log is to take.
type waiting struct {
	commitlog.Entry
	before commitlog.Chain
	since  time.Time
}

// New returns a log that keeps what waits in dir, which it makes. A commit waits for the other log at most for within: where the oldest one waits for
// longer, the next ones wait for it before they are done. What an earlier life has left there is to be put first (Put). The caller calls Close.
func New(dir string, under commitlog.Log, within time.Duration) (*Log, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Log{dir: dir, under: under, within: within, stop: stop, over: make(chan struct{}), moved: make(chan struct{})}
	l.work.Go(func() { l.carry(ctx) })
	return l, nil
}

// Delay has commits be done before the other log has them, from now on.
func (l *Log) Delay() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = true
}

// Append implements commitlog.Log.
func (l *Log) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return commitlog.Unknown, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		l.mu.Lock()
		late, other, moved := l.late, l.other, l.moved
		_, known := l.find(at)
		carried := !known && at <= l.upTo
		full := len(l.waiting) > 0 && time.Since(l.waiting[0].since) >= l.within
		l.mu.Unlock()
		switch {
		case !late || carried:
			return l.under.Append(ctx, at, before, body)
		case other != nil || known:
			return commitlog.Refused, nil
		case !full:
			return l.keep(waiting{commitlog.NewEntry(at, before, bytes.Clone(body)), before, time.Now()})
		}
		select {
		case <-moved:
		case <-l.over:
			return commitlog.Unknown, commitlog.ErrClosed
		case <-ctx.Done():
			return commitlog.Unknown, context.Cause(ctx)
		}
	}
}

// keep writes a commit to the disk, durably.
func (l *Log) keep(w waiting) (commitlog.Result, error) {
	if err := write(l.dir, w); err != nil {
		return commitlog.Unknown, err
	}
	l.change(func() { l.waiting, l.upTo = append(l.waiting, w), max(l.upTo, w.At) })
	return commitlog.Done, nil
}

// Read implements commitlog.Log. Where the other log has something else, that is what stands at all later positions.
func (l *Log) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	l.mu.Lock()
	w, known := l.find(at)
	other, later := l.other, at > 0 && len(l.waiting) > 0 && at < l.waiting[0].At
	l.mu.Unlock()
	if other != nil && at >= other.At {
		w.Entry, known = *other, true
	}
	if known && ctx.Err() == nil {
		w.Body = bytes.Clone(w.Body)
		return w.Entry, nil
	}
	e, err := l.under.Read(ctx, at)
	if later && errors.Is(err, commitlog.ErrNone) {
		err = commitlog.ErrGap
	}
	return e, err
}

// find returns what waits at a position. The lock is held.
func (l *Log) find(at commitlog.Position) (waiting, bool) {
	i, ok := slices.BinarySearchFunc(l.waiting, at, func(w waiting, at commitlog.Position) int { return cmp.Compare(w.At, at) })
	if !ok {
		return waiting{}, false
	}
	return l.waiting[i], true
}

// change changes what others wait for.
func (l *Log) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.moved)
	l.moved = make(chan struct{})
}

// carry has the other log take what waits, until ctx ends or that is of no use any more.
func (l *Log) carry(ctx context.Context) {
	defer close(l.over)
	for {
		l.mu.Lock()
		moved, any := l.moved, len(l.waiting) > 0
		var first waiting
		if any {
			first = l.waiting[0]
		}
		l.mu.Unlock()
		if !any {
			select {
			case <-moved:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := commitlog.Settle(ctx, l.under, first.Entry, first.before)
		for err == nil { // a file that stays would come into a log that has gone on
			if err = remove(l.dir, first.At); err == nil {
				l.change(func() { l.waiting = l.waiting[1:] })
				break
			}
			err = sleep.For(ctx, time.Second)
		}
		switch {
		case errors.Is(err, commitlog.ErrOther):
			there, wrong := l.under.Read(ctx, first.At)
			if wrong == nil {
				there.At = first.At
				l.change(func() { l.other = &there })
				<-ctx.Done()
				return
			}
		case err != nil:
			return
		}
	}
}

// Waits returns how many commits wait for the other log, and since when the first of them does.
func (l *Log) Waits() (count int, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		since = l.waiting[0].since
	}
	return len(l.waiting), since
}

// Flush waits until the other log has all that waits now. It fails with commitlog.ErrOther where that has something else, and with ErrClosed.
func (l *Log) Flush(ctx context.Context) error {
	last := commitlog.Position(0)
	for {
		l.mu.Lock()
		n, other, moved := len(l.waiting), l.other, l.moved
		if last == 0 && n > 0 {
			last = l.waiting[n-1].At
		}
		done := n == 0 || l.waiting[0].At > last
		l.mu.Unlock()
		switch {
		case done:
			return nil
		case other != nil:
			return commitlog.ErrOther
		}
		select {
		case <-moved:
		case <-l.over:
			return commitlog.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close waits for what waits until ctx ends, and leaves the rest on the disk for the next start.
func (l *Log) Close(ctx context.Context) {
	_ = l.Flush(ctx) // what is left is put at the next start, which tells where that cannot be
	l.stop()
	l.work.Wait()
}
