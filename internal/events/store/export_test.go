package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// Compact brings the store into its final shape on disk.
func Compact(s *Store) {
	if err := s.engine.db.Flush(); err != nil {
		panic(err)
	}
	if err := s.engine.db.Compact(context.Background(), []byte{0}, []byte{255}, false); err != nil {
		panic(err)
	}
}

// Flush writes what is in memory into a table.
func Flush(s *Store) {
	if err := s.engine.db.Flush(); err != nil {
		panic(err)
	}
}

// Size is the bytes on disk of one table.
func Size(s *Store, table byte) uint64 {
	n, err := s.engine.db.EstimateDiskUsage([]byte{table}, []byte{table + 1})
	if err != nil {
		panic(err)
	}
	return n
}

// SetFormat writes another format version.
func SetFormat(s *Store, n uint32) {
	if err := s.engine.db.Set(layout.MetaKey(layout.MetaFormat), binary.BigEndian.AppendUint32(nil, n), pebble.Sync); err != nil {
		panic(err)
	}
}

// Blocks are the data blocks of a table of the engine: where each begins, and of which of the store's tables its keys are.
func Blocks(fs vfs.FS, path string) map[int]string {
	blocks := make(map[int]string)
	bad, err := kv.ReadTable(fs, path, func(v kv.Version) error {
		if b := blocks[int(v.Block)]; !strings.HasSuffix(b, string(v.Key[:1])) {
			blocks[int(v.Block)] = b + string(v.Key[:1])
		}
		return nil
	})
	if bad > 0 || err != nil {
		panic(fmt.Sprint(path, bad, err))
	}
	return blocks
}

// KeysOf is how many keys some tables have.
func KeysOf(s *Store, tables string) (n int) {
	for _, t := range []byte(tables) {
		if err := index.EachKey(s.engine.db, t, func(_, _ []byte) error { n++; return nil }); err != nil {
			panic(err)
		}
	}
	return n
}

// BlocksRead is how many blocks of tables were asked for so far, of the disk or of the cache.
func BlocksRead(s *Store) int64 {
	c := s.engine.db.Metrics().BlockCache
	return c.Hits + c.Misses
}

// TableBytes is what the tables have that are in use.
func TableBytes(s *Store) int64 {
	m := s.engine.db.Metrics()
	total := m.Total()
	return total.TablesSize
}

// Opened tells whether the engine that a View reads is open.
func Opened(v *View) func() bool {
	s, e := v.s, v.st.engine
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return e.refs > 0
	}
}

// KeysIn is how many keys a closed store has.
func KeysIn(fs vfs.FS) (n int) {
	o := kv.Tuning{FS: fs, Simulated: true, Logger: slog.New(slog.DiscardHandler), Fail: func(error) {}}.Options()
	o.ReadOnly = true
	db, err := pebble.Open("data", o)
	if err != nil {
		panic(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		panic(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := errors.Join(it.Close(), db.Close()); err != nil {
		panic(err)
	}
	return n
}

// Bounds of the removals of which a store with a log tells.
const RemovalsKept = removalsKept
