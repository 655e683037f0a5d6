package index

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Get copies one value out of the database, a snapshot or an indexed batch.
func Get(r pebble.Reader, key []byte) ([]byte, bool, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %q: %w", key[:1], err)
	}
	v = append([]byte(nil), v...)
	return v, true, closer.Close()
}

// TableIter goes through a table.
func TableIter(r pebble.Reader, table byte) (*pebble.Iterator, error) {
	return r.NewIter(&pebble.IterOptions{LowerBound: []byte{table}, UpperBound: []byte{table + 1}})
}

// EachKey calls do with every key of a table.
func EachKey(r pebble.Reader, table byte, do func(key, value []byte) error) (err error) {
	it, err := TableIter(r, table)
	if err != nil {
		return err
	}
	defer CloseAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		if err := do(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}

// CloseAfter closes something at the end of a function and keeps its error, unless there is one already.
func CloseAfter(close func() error, err *error) {
	if e := close(); *err == nil {
		*err = e
	}
}
