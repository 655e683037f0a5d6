package snapshot

import (
	"context"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/base/objects"
)

const (
	piece  = 8 << 20 // bytes of one Get
	atOnce = 8       // files that are on their way at once
)

// copyOut writes an object of so many bytes to w. With -1 it may have any size. It fails with ErrDamaged where it has another size.
func copyOut(ctx context.Context, o objects.Store, name string, size int64, w io.Writer) error {
	for at := int64(0); size < 0 || at < size; {
		n := int64(piece)
		if size >= 0 {
			n = min(n, size-at)
		}
		part, err := o.Get(ctx, name, at, int(n))
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
		page, err := o.List(ctx, prefix, after, objects.MaxList)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < objects.MaxList {
			return all, nil
		}
	}
}
