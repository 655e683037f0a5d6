package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
)

// ErrUnanswered says that a store refuses what it is asked, or does not answer.
var ErrUnanswered = errors.New("the object store does not do what it is asked")

// errSlow ends a request.
var errSlow = errors.New("the object store has not answered in time")

// How a patient store asks: how often, the waits between, of which the first doubles, and how long each request may take, and as long again for each
// slowBytes.
const (
	patientTries = 7
	firstWait    = 100 * time.Millisecond
	longestWait  = 5 * time.Second
	slow         = 10 * time.Second
	slowBytes    = 4 << 20
)

// Patient is a store that asks another one again while that does not answer, within some seconds each time. It fails with ErrUnanswered where it has
// asked often enough. Exists then says that an object has the name, which an earlier try of the same Put may have written.
type Patient struct {
	Store Store
	Wait  time.Duration // before the second try; 0 is 100 ms
}

// again makes a request in which so many bytes go over the wire.
func (p Patient) again(ctx context.Context, bytes int64, ask func(context.Context) error) (err error) {
	wait := cmp.Or(p.Wait, firstWait)
	for try := 1; ; try++ {
		asked, over := context.WithTimeoutCause(ctx, slow*time.Duration(1+bytes/slowBytes), errSlow)
		err = ask(asked)
		over()
		switch {
		case err == nil, errors.Is(err, ErrNone), errors.Is(err, ErrName), errors.Is(err, ErrSize):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case try == patientTries:
			return fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		if late := sleep.For(ctx, wait); late != nil {
			return fmt.Errorf("%w: %w", late, err)
		}
		wait = min(2*wait, longestWait)
	}
}

// Put implements Store.
func (p Patient) Put(ctx context.Context, name string, body Body) (o Outcome, err error) {
	err = p.again(ctx, body.Size(), func(ctx context.Context) (err error) {
		o, err = p.Store.Put(ctx, name, body)
		return err
	})
	return o, err
}

// Get implements Store.
func (p Patient) Get(ctx context.Context, name string, from int64, n int) (b []byte, err error) {
	err = p.again(ctx, int64(n), func(ctx context.Context) (err error) {
		b, err = p.Store.Get(ctx, name, from, n)
		return err
	})
	return b, err
}

// Head implements Store.
func (p Patient) Head(ctx context.Context, name string) (i Info, err error) {
	err = p.again(ctx, 0, func(ctx context.Context) (err error) {
		i, err = p.Store.Head(ctx, name)
		return err
	})
	return i, err
}

// List implements Store.
func (p Patient) List(ctx context.Context, prefix, after string, most int) (page []Info, err error) {
	err = p.again(ctx, 0, func(ctx context.Context) (err error) {
		page, err = p.Store.List(ctx, prefix, after, most)
		return err
	})
	return page, err
}

// Delete implements Store.
func (p Patient) Delete(ctx context.Context, name string) error {
	return p.again(ctx, 0, func(ctx context.Context) error { return p.Store.Delete(ctx, name) })
}
