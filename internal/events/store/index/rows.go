package index

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
)

// NamedRow returns a copy of the value of a row; nil where there is none.
func (r Reader) NamedRow(name string) (out []byte, err error) {
	err = r.ReadRow(name, func(value []byte) error { out = bytes.Clone(value); return nil })
	return out, err
}

// ReadRow calls do with the value of a row; nil where there is none. The value is valid only during the call.
func (r Reader) ReadRow(name string, do func(value []byte) error) error {
	value, closer, err := r.From.Get(layout.NamedKey(name))
	if errors.Is(err, pebble.ErrNotFound) {
		return do(nil)
	}
	if err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	if value == nil {
		value = []byte{}
	}
	return errors.Join(do(value), closer.Close())
}

// EachRow does what store.View.EachRow says, on this state.
func (r Reader) EachRow(prefix, after string, do func(name string, value []byte) (more bool, err error)) (err error) {
	all := layout.NamedKey(prefix)
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: all, UpperBound: layout.PrefixEnd(all)})
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer CloseAfter(it.Close, &err)
	for it.SeekGE(append(layout.NamedKey(after), 0)); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		if more, err := do(string(it.Key()[1:]), value); !more || err != nil {
			return err
		}
	}
	return it.Error()
}
