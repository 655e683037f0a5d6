// Package bucketlog keeps the log of commits in an object store: an object for each entry, which is written once. Log is the log, and a Reader
// waits for what comes into it.
package bucketlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Bounds of what is asked of the store at once. An entry is read in pieces, so that each request is answered soon.
const (
	piece     = 4 << 20                   // bytes of an entry
	largest   = commitlog.MaxSize + 1<<20 // bytes of an object: a commit that cannot be compressed grows a little
	slow      = 10 * time.Second          // for a request, and as long again for each slowBytes that are written
	slowBytes = 4 << 20
)

// errSlow ends a request.
var errSlow = errors.New("the object store has not answered in time")

// Log is the log in one object store. It implements commitlog.Log, for any number of goroutines.
type Log struct {
	store  objects.Store
	closed atomic.Bool
}

// New returns the log in a store. It asks the store nothing.
func New(store objects.Store) *Log { return &Log{store: store} }

// prefix is where the log lies.
const prefix = "log/"

// name is the name of an entry's object. By their names the objects are in the order of the log.
func name(at commitlog.Position) string { return fmt.Sprintf("%s%020d", prefix, uint64(at)) }

// position is the position of an object with that name.
func position(name string) (commitlog.Position, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, prefix), 10, 64)
	if err != nil || len(name) != len(prefix)+20 {
		return 0, fmt.Errorf("%w: an object is called %q", commitlog.ErrDamaged, name)
	}
	return commitlog.Position(n), nil
}

// Append implements commitlog.Log.
func (l *Log) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	if l.closed.Load() {
		return commitlog.Unknown, commitlog.ErrClosed
	}
	object := commitlog.NewEntry(at, before, body).Append(make([]byte, 0, len(before)+len(body)))
	ctx, over := context.WithTimeoutCause(ctx, slow*time.Duration(1+len(object)/slowBytes), errSlow)
	defer over()
	switch o, err := l.store.Put(ctx, name(at), bytes.NewReader(object)); o {
	case objects.Done:
		return commitlog.Done, nil
	case objects.Exists:
		return commitlog.Refused, nil
	default:
		return commitlog.Unknown, fmt.Errorf("write commit %d: %w", at, err)
	}
}

// Close lets nobody append any more: an append of which nothing is known ends, after the request that is under way. Reads that fail from then on
// say ErrClosed, so that nobody tries them again.
func (l *Log) Close() { l.closed.Store(true) }

// failed is why a read has failed.
func (l *Log) failed(err error) error {
	if l.closed.Load() {
		return fmt.Errorf("%w: %w", commitlog.ErrClosed, err)
	}
	return err
}

// Read implements commitlog.Log.
func (l *Log) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	e, err := l.get(ctx, at)
	if !errors.Is(err, commitlog.ErrNone) || at == 0 {
		return e, err
	}
	if later, err := l.after(ctx, at); err != nil || later == 0 {
		return commitlog.Entry{}, or(err, commitlog.ErrNone)
	}
	if e, err = l.get(ctx, at); errors.Is(err, commitlog.ErrNone) { // both may have come between
		err = commitlog.ErrGap
	}
	return e, err
}

func or(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// get reads an entry.
func (l *Log) get(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	first, err := l.part(ctx, at, 0, piece)
	if err != nil {
		return commitlog.Entry{}, err
	}
	return l.complete(ctx, at, first)
}

// complete reads what comes after the first piece of an entry.
func (l *Log) complete(ctx context.Context, at commitlog.Position, object []byte) (commitlog.Entry, error) {
	for len(object) > 0 && len(object)%piece == 0 { // a piece that is not full is the last
		part, err := l.part(ctx, at, len(object), piece)
		if err != nil {
			return commitlog.Entry{}, err
		}
		object = append(object, part...)
		if len(object) > largest {
			return commitlog.Entry{}, fmt.Errorf("%w: position %d has more than %d bytes", commitlog.ErrDamaged, at, largest)
		}
		if len(part) == 0 {
			break
		}
	}
	return commitlog.ParseEntry(at, object)
}

// part reads a part of an entry's object.
func (l *Log) part(ctx context.Context, at commitlog.Position, from, n int) ([]byte, error) {
	ctx, over := context.WithTimeoutCause(ctx, slow, errSlow)
	defer over()
	switch b, err := l.store.Get(ctx, name(at), int64(from), n); {
	case errors.Is(err, objects.ErrNone):
		return nil, commitlog.ErrNone
	case err != nil:
		return nil, l.failed(fmt.Errorf("read commit %d: %w", at, err))
	default:
		return b, nil
	}
}

// Chain reads the chain of an entry. It fails with commitlog.ErrNone where there is no such entry.
func (l *Log) Chain(ctx context.Context, at commitlog.Position) (commitlog.Chain, error) {
	b, err := l.part(ctx, at, 0, len(commitlog.Chain{}))
	if err != nil {
		return commitlog.Chain{}, err
	}
	e, err := commitlog.ParseEntry(at, b)
	return e.Chain, err
}

// after returns the position of the first entry after one; 0 where there is none.
func (l *Log) after(ctx context.Context, at commitlog.Position) (commitlog.Position, error) {
	ctx, over := context.WithTimeoutCause(ctx, slow, errSlow)
	defer over()
	page, err := l.store.List(ctx, prefix, name(at), 1)
	if err != nil {
		return 0, l.failed(fmt.Errorf("list the commits after %d: %w", at, err))
	}
	if len(page) == 0 {
		return 0, nil
	}
	return position(page[0].Name)
}
