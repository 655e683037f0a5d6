package bucketlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// How often a Reader asks when there is nothing new: soon for so many times, and then seldom. The first of lookEvery times it looks whether what
// it has read is still there, which is once a minute.
const (
	soon      = 250 * time.Millisecond
	soonTimes = 20
	seldom    = time.Second
	lookEvery = 60
)

// widest is how many entries a Reader that is behind asks for at once, of each a piece.
const widest = 16

// Reader reads a log from a place on, one entry after the other. One goroutine uses it at a time.
type Reader struct {
	log   *Log
	at    commitlog.Position // of the last entry that was read
	chain commitlog.Chain
	empty int // how often in a row there was nothing, or a failure
	rest  int // how often there may be nothing until it looks why

	ready [][]byte // first pieces of the next entries
	width int      // how many it asks for at once
}

// From returns a reader of what comes after the entry with that chain at a position; 0 is from the beginning on.
func (l *Log) From(at commitlog.Position, chain commitlog.Chain) *Reader {
	return &Reader{log: l, at: at, chain: chain, width: 1}
}

// Next returns the next entry, and waits until there is one or ctx ends. It fails with ErrGap where the log has later entries and not the next
// one, and with ErrHistory where what was read last is there no more, or something else is there; so will each later call. After any other
// error the next call asks again, not at once.
func (r *Reader) Next(ctx context.Context) (commitlog.Entry, error) {
	for {
		if err := sleep.For(ctx, r.pause()); err != nil {
			return commitlog.Entry{}, err
		}
		e, err := r.take(ctx)
		if err == nil {
			r.at, r.chain, r.empty = e.At, e.Chain, 0
			return e, nil
		}
		r.empty++
		if errors.Is(err, commitlog.ErrNone) {
			err = r.nothing(ctx)
		}
		if err != nil {
			return commitlog.Entry{}, err
		}
	}
}

// take reads the next entry, if there is one.
func (r *Reader) take(ctx context.Context) (commitlog.Entry, error) {
	if len(r.ready) == 0 {
		if err := r.fetch(ctx); err != nil {
			return commitlog.Entry{}, err
		}
	}
	e, err := r.log.complete(ctx, r.at+1, r.ready[0])
	if err == nil {
		r.ready = r.ready[1:]
	}
	return e, err
}

// fetch asks for the first pieces of the next entries at once: of twice as many each time that all were there, as a reader is then far behind.
func (r *Reader) fetch(ctx context.Context) error {
	parts, errs := make([][]byte, r.width), make([]error, r.width)
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { parts[i], errs[i] = r.log.part(ctx, r.at+1+commitlog.Position(i), 0, piece) })
	}
	all.Wait()
	there := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if there < 0 {
		r.ready, r.width = parts, min(2*r.width, widest)
		return nil
	}
	r.ready, r.width = parts[:there], 1
	if there == 0 {
		return errs[0]
	}
	return nil
}

// nothing looks now and then whether there is reason to wait for the next entry. A look that fails is made again the next time.
func (r *Reader) nothing(ctx context.Context) error {
	if r.rest > 0 {
		r.rest--
		return nil
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	r.rest = lookEvery - 1
	return nil
}

// pause is how long to wait before the store is asked again.
func (r *Reader) pause() time.Duration {
	switch {
	case r.empty == 0:
		return 0
	case r.empty <= soonTimes:
		return soon
	}
	return seldom
}

// look returns nil where the log goes on after what was read, or ends with it.
func (r *Reader) look(ctx context.Context) error { return r.log.Agree(ctx, r.at, r.chain) }

// Agree returns nil where the log goes on after the entry with that chain at a position, or ends with it. It fails with ErrGap where the log has later
// entries and not the next one, and with ErrHistory where it ends before, or has another entry there.
func (l *Log) Agree(ctx context.Context, at commitlog.Position, chain commitlog.Chain) error {
	there, err := l.last(ctx, at, chain)
	if err != nil {
		return err
	}
	later, err := l.after(ctx, at)
	switch {
	case err != nil:
		return err
	case later > at+1:
		return fmt.Errorf("%w: it goes on at %d after %d", commitlog.ErrGap, later, at)
	case !there && later == 0:
		return fmt.Errorf("%w: it ends before position %d", commitlog.ErrHistory, at)
	}
	return nil
}

// last reports whether the log has an entry. A log may have forgotten it, and go on all the same.
func (l *Log) last(ctx context.Context, at commitlog.Position, chain commitlog.Chain) (there bool, err error) {
	if at == 0 {
		return true, nil
	}
	c, err := l.Chain(ctx, at)
	switch {
	case errors.Is(err, commitlog.ErrNone):
		return false, nil
	case err == nil && c != chain:
		err = fmt.Errorf("%w: another commit is at position %d", commitlog.ErrHistory, at)
	}
	return err == nil, err
}
