package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/sstable/valblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Version is what one file of the engine says about a key: a value, or that the key is gone. Of several versions the one with the highest number
// counts.
type Version struct {
	Key, Value []byte
	Number     uint64
	Gone       bool
	Block      int64 // of a table: the beginning of its block
}

// tableFile reads a table of the engine without the engine and block by block, so that a damaged block costs no other.
type tableFile struct {
	r      *sstable.Reader
	schema colblk.KeySchema
}

func openTable(fsys vfs.FS, path string) (*tableFile, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	schema := colblk.DefaultKeySchema(pebble.DefaultComparer, keysPerBundle)
	policy := bloom.FilterPolicy(10)
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{
		Comparer:   pebble.DefaultComparer,
		KeySchemas: sstable.MakeKeySchemas(&schema),
		Filters:    map[string]sstable.FilterPolicy{policy.Name(): policy},
	})
	if err != nil {
		return nil, err // sstable.NewReader has closed the file
	}
	return &tableFile{r, schema}, nil
}

// keysPerBundle is part of the name of the engine's own key schema.
const keysPerBundle = 16

// each calls do with every version in the table, and returns how many of its blocks it could not read. A version is valid during the call.
func (t *tableFile) each(do func(Version) error) (bad int, err error) {
	layout, err := t.r.Layout()
	if err != nil {
		return 1, nil // without its index nothing leads to the blocks
	}
	for _, b := range layout.Data {
		versions, err := t.block(b.Handle)
		if err != nil {
			bad++
			continue
		}
		for _, v := range versions {
			if err := do(v); err != nil {
				return bad, err
			}
		}
	}
	return bad, nil
}

// block reads a data block. Wrong bytes that the checksum lets through may make the engine panic; block returns that as an error.
func (t *tableFile) block(at block.Handle) (versions []Version, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("block: %v", r)
		}
	}()
	h, err := t.r.BlockReader().Read(context.Background(), block.NoReadEnv, nil, at, blockkind.SSTableData,
		func(*block.Metadata, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	defer h.Release()
	var d colblk.DataBlockDecoder
	d.Init(&t.schema, h.BlockData())
	var it colblk.DataBlockIter
	it.InitOnce(&t.schema, pebble.DefaultComparer, new(valblk.Reader))
	if err := it.Init(&d, block.IterTransforms{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for kv := it.First(); kv != nil; kv = it.Next() {
		value, ok := kindOf(kv.K.Kind())
		if !ok || !kv.V.IsInPlaceValue() { // a value that is kept apart belongs to an older version than the one before
			continue
		}
		v := Version{Key: append([]byte(nil), kv.K.UserKey...), Number: uint64(kv.K.SeqNum()), Gone: !value, Block: int64(at.Offset)}
		if value {
			v.Value = append([]byte(nil), kv.V.InPlaceValue()...)
		}
		versions = append(versions, v)
	}
	return versions, nil
}

// kindOf reports whether a record of the engine sets a value or removes one; ok is false for any other record.
func kindOf(k pebble.InternalKeyKind) (value, ok bool) {
	switch k {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		return true, true
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete:
		return false, true
	}
	return false, false
}

// ReadTable calls do with every version in a table, and returns how many of its blocks it could not read. A table that cannot even be opened
// counts as one such block.
func ReadTable(fsys vfs.FS, path string, do func(Version) error) (bad int, err error) {
	t, err := openTable(fsys, path)
	if err != nil {
		return 1, nil
	}
	bad, err = t.each(do)
	return bad, errors.Join(err, t.r.Close())
}
