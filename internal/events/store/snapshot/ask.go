package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/sleep"
)

// Bounds of what is asked of an object store: how long a request may take, and as long again for each slowBytes; how often one is made that is not
// answered, and the waits between, of which the first doubles.
const (
	slow        = 10 * time.Second
	slowBytes   = 4 << 20
	tries       = 8
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
	piece       = 8 << 20 // bytes of one Get
	atOnce      = 8       // files that are on their way at once
)

// errSlow ends a request.
var errSlow = errors.New("the object store has not answered in time")

// again asks until there is an answer, a few times.
func again(ctx context.Context, ask func() error) (err error) {
	wait := firstWait
	for range tries {
		if err = ask(); err == nil || errors.Is(err, objects.ErrNone) || errors.Is(err, ErrDamaged) {
			return err
		}
		if late := sleep.For(ctx, wait); late != nil {
			return errors.Join(late, err)
		}
		wait = min(2*wait, longestWait)
	}
	return err
}

func within(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, slow*time.Duration(1+bytes/slowBytes), errSlow)
}

// put writes an object; there may be one of the same content already.
func put(ctx context.Context, o objects.Store, name string, body objects.Body) error {
	return again(ctx, func() error {
		ctx, over := within(ctx, body.Size())
		defer over()
		_, err := o.Put(ctx, name, body)
		return err
	})
}

// copyOut writes an object of so many bytes to w. With -1 it may have any size. It fails with ErrDamaged where it has another size.
func copyOut(ctx context.Context, o objects.Store, name string, size int64, w io.Writer) error {
	for at := int64(0); size < 0 || at < size; {
		n := int64(piece)
		if size >= 0 {
			n = min(n, size-at)
		}
		var part []byte
		err := again(ctx, func() (err error) {
			ctx, over := within(ctx, n)
			defer over()
			part, err = o.Get(ctx, name, at, int(n))
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		at += int64(len(part))
		if int64(len(part)) < n {
			if size < 0 {
				return nil
			}
			return fmt.Errorf("%w: %s has %d bytes in place of %d", ErrDamaged, name, at, size)
		}
	}
	return nil
}

// listed returns all objects whose names begin with a prefix.
func listed(ctx context.Context, o objects.Store, prefix string) (all []objects.Info, err error) {
	for after := ""; ; after = all[len(all)-1].Name {
		var page []objects.Info
		err := again(ctx, func() (err error) {
			ctx, over := within(ctx, 0)
			defer over()
			page, err = o.List(ctx, prefix, after, objects.MaxList)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < objects.MaxList {
			return all, nil
		}
	}
}

// remove removes an object.
func remove(ctx context.Context, o objects.Store, name string) error {
	return again(ctx, func() error {
		ctx, over := within(ctx, 0)
		defer over()
		return o.Delete(ctx, name)
	})
}
