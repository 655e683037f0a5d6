package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Rows are named values that belong to the events: they change in the commit of the events that change them. To the store
// they are bytes, and no feed tells of them.
const (
	MaxRowName  = 200     // bytes
	MaxRowValue = 4 << 20 // likewise
)

func nameKey(name string) []byte {
	return append(append(make([]byte, 0, 1+len(name)), tableRow), name...)
}

// badRow says what is wrong with a row; nil where nothing is.
func badRow(name string, size int) error {
	if name == "" || len(name) > MaxRowName {
		return fmt.Errorf("a row's name has 1 to %d bytes, not %d", MaxRowName, len(name))
	}
	if size > MaxRowValue {
		return fmt.Errorf("row %q: a value has at most %d bytes, not %d", name, MaxRowValue, size)
	}
	return nil
}

// SetRow writes a row in this batch, and removes it where value is nil. The value is copied.
func (b *Batch) SetRow(name string, value []byte) error {
	if err := badRow(name, len(value)); err != nil {
		return err
	}
	b.ops++
	if value == nil {
		return b.delete(nameKey(name))
	}
	return b.set(nameKey(name), value)
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
	value, closer, err := r.r.Get(nameKey(name))
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
	all := nameKey(prefix)
	it, err := v.reader().r.NewIter(&pebble.IterOptions{LowerBound: all, UpperBound: prefixEnd(all)})
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer closeAfter(it.Close, &err)
	for it.SeekGE(append(nameKey(after), 0)); it.Valid(); it.Next() {
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
