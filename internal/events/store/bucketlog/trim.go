package bucketlog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Extent says what there is of a log.
type Extent struct {
	First, Last commitlog.Position // 0 where there is none
	Entries     int
	Bytes       int64 // of the objects
}

// Extent returns what there is of the log after a position. It asks once for a thousand entries.
func (l *Log) Extent(ctx context.Context, after commitlog.Position) (x Extent, err error) {
	err = l.each(ctx, after, func(at commitlog.Position, size int64) error {
		if x.First == 0 {
			x.First = at
		}
		x.Last, x.Entries, x.Bytes = at, x.Entries+1, x.Bytes+size
		return nil
	})
	return x, err
}

// each calls do with each entry after a position, in order.
func (l *Log) each(ctx context.Context, after commitlog.Position, do func(commitlog.Position, int64) error) error {
	for last := name(after); ; {
		page, err := l.page(ctx, last)
		if err != nil {
			return err
		}
		for _, o := range page {
			at, err := position(o.Name)
			if err == nil {
				err = do(at, o.Size)
			}
			if err != nil {
				return err
			}
			last = o.Name
		}
		if len(page) < objects.MaxList {
			return nil
		}
	}
}

func (l *Log) page(ctx context.Context, after string) ([]objects.Info, error) {
	ctx, over := context.WithTimeoutCause(ctx, slow, errSlow)
	defer over()
	page, err := l.store.List(ctx, prefix, after, objects.MaxList)
	if err != nil {
		return nil, fmt.Errorf("list the commits after %s: %w", after, err)
	}
	return page, nil
}

// Begins returns the positions of the entries that begin terms, the last first, where the last term began at a position.
func (l *Log) Begins(ctx context.Context, began commitlog.Position) (all []commitlog.Position, err error) {
	for began > 0 {
		all = append(all, began)
		b, err := l.part(ctx, began, 0, len(commitlog.Chain{})+commitlog.Header)
		if err != nil {
			return nil, fmt.Errorf("the entry at %d, which begins a term: %w", began, err)
		}
		e, err := commitlog.ParseEntry(began, b)
		if err != nil {
			return nil, err
		}
		body, err := commitlog.ParseHeader(e.Body)
		if err == nil && body.Began >= uint64(began) {
			err = fmt.Errorf("%w: the term before that of position %d began at %d", commitlog.ErrDamaged, began, body.Began)
		}
		if err != nil {
			return nil, err
		}
		began = commitlog.Position(body.Began)
	}
	return all, nil
}

// removeAtOnce is how many requests to remove an entry are under way at once.
const removeAtOnce = 16

// Trim removes the entries before a position, but for those that begin terms, and returns how many it removed. began is where the last term began.
// What begins terms stays, as a node that led refuses to go on when it finds there that another one has led since, however late that is. Whatever
// else comes back late below that position is nobody's, and goes with the next Trim.
func (l *Log) Trim(ctx context.Context, below, began commitlog.Position) (removed int, err error) {
	terms, err := l.Begins(ctx, began)
	if err != nil {
		return 0, fmt.Errorf("trim the commit log: %w", err)
	}
	keep := make(map[commitlog.Position]bool)
	for _, at := range terms {
		keep[at] = true
	}
	done := errors.New("all are seen")
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(removeAtOnce)
	err = l.each(ctx, 0, func(at commitlog.Position, _ int64) error {
		switch {
		case at >= below:
			return done
		case !keep[at]:
			removed++
			work.Go(func() error { return l.remove(ctx, at) })
		}
		return nil
	})
	if errors.Is(err, done) {
		err = nil
	}
	if err = errors.Join(work.Wait(), err); err != nil {
		return 0, fmt.Errorf("trim the commit log: %w", err)
	}
	return removed, nil
}

func (l *Log) remove(ctx context.Context, at commitlog.Position) error {
	ctx, over := context.WithTimeoutCause(ctx, slow, errSlow)
	defer over()
	if err := l.store.Delete(ctx, name(at)); err != nil {
		return fmt.Errorf("remove commit %d: %w", at, err)
	}
	return nil
}

// Any reports whether the log has any entry.
func (l *Log) Any(ctx context.Context) (bool, error) {
	at, err := l.after(ctx, 0)
	return at > 0, err
}
