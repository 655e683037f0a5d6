package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/layout"
)

// SetRow writes a row in this batch, and removes it where value is nil. The value is copied.
func (b *Batch) SetRow(name string, value []byte) error {
	if err := layout.BadRow(name, len(value)); err != nil {
		return err
	}
	b.ops++
	if value == nil {
		return b.delete(layout.NamedKey(name))
	}
	return b.set(layout.NamedKey(name), value)
}

// Row is the value of a row as this batch has it, nil where there is none.
func (b *Batch) Row(name string) ([]byte, error) { return b.reader().namedRow(name) }

// Row is the value of a row, nil where there is none.
func (v *View) Row(name string) ([]byte, error) { return v.reader().namedRow(name) }

// ReadRow calls do with what Row gives, which is valid only during the call.
func (v *View) ReadRow(name string, do func(value []byte) error) error {
	return v.reader().readRow(name, do)
}

func (r reader) namedRow(name string) (out []byte, err error) {
	err = r.readRow(name, func(value []byte) error { out = bytes.Clone(value); return nil })
	return out, err
}

func (r reader) readRow(name string, do func(value []byte) error) error {
	value, closer, err := r.r.Get(layout.NamedKey(name))
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

// EachRow calls do with the rows whose names begin so and come after that one, in the order of their bytes, until it has
// enough. The value is valid only during the call.
func (v *View) EachRow(prefix, after string, do func(name string, value []byte) (more bool, err error)) (err error) {
	all := layout.NamedKey(prefix)
	it, err := v.reader().r.NewIter(&pebble.IterOptions{LowerBound: all, UpperBound: layout.PrefixEnd(all)})
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer closeAfter(it.Close, &err)
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
