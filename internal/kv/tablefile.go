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

// Version is what one file of the engine says of a key: a value, or that it is gone. Of several versions the one with the
// highest number counts.
type Version struct {
	Key, Value []byte
	Number     uint64
	Gone       bool
	Block      int64 // of a table: where the block begins that it stands in
}

// tableFile is a table of the engine, read without the engine and block by block, so that a damaged block costs no
// other.
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
		return nil, err // it has closed the file
	}
	return &tableFile{r, schema}, nil
}

// keysPerBundle is part of the name of the engine's own key schema.
const keysPerBundle = 16

// each calls do with all that the table says, and tells how many of its blocks could not be read. What do is given is
// valid during the call.
func (t *tableFile) each(do func(Version) error) (bad int, err error) {
	layout, err := t.r.Layout()
	if err != nil {
		return 1, nil // its index is gone, and with it the way to all that it holds
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

// block reads a data block. What its checksum lets through and is wrong all the same may make the engine panic.
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
		if !ok || !kv.V.IsInPlaceValue() { // what is kept apart is an older version than the one before it
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

// kindOf says whether the engine's record sets a value or removes one, and whether it is one of these at all.
func kindOf(k pebble.InternalKeyKind) (value, ok bool) {
	switch k {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		return true, true
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete:
		return false, true
	}
	return false, false
}

// ReadTable reads a whole table; one that cannot even be opened counts as one unreadable block.
func ReadTable(fsys vfs.FS, path string, do func(Version) error) (bad int, err error) {
	t, err := openTable(fsys, path)
	if err != nil {
		return 1, nil
	}
	bad, err = t.each(do)
	return bad, errors.Join(err, t.r.Close())
}
