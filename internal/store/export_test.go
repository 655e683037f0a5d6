package store

import (
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"graspd/internal/nostr"
)

// Compact brings the store into its final shape on disk.
func Compact(s *Store) {
	if err := s.db.Flush(); err != nil {
		panic(err)
	}
	if err := s.db.Compact(context.Background(), []byte{0}, []byte{255}, false); err != nil {
		panic(err)
	}
}

// Flush writes what is in memory into a table.
func Flush(s *Store) {
	if err := s.db.Flush(); err != nil {
		panic(err)
	}
}

// Size is the bytes on disk of one table.
func Size(s *Store, table byte) uint64 {
	n, err := s.db.EstimateDiskUsage([]byte{table}, []byte{table + 1})
	if err != nil {
		panic(err)
	}
	return n
}

// PairsBy runs a filter over each of the indexes that could serve it, whichever would be chosen.
func PairsBy(v *View, f nostr.Filter, flagged bool) (answers [][]Pair, err error) {
	r := v.reader()
	for i := 0; ; i++ {
		q := newQuery(f)
		if q.empty() || f.IDs != nil {
			return nil, nil
		}
		q.group()
		if i >= max(1, len(q.groups)) {
			return answers, nil
		}
		q.drive(i)
		pairs := []Pair{}
		err := r.runScan(context.Background(), q, flagged, func(at *found) (bool, error) {
			ok, err := r.settle(q, at)
			if ok {
				pairs = append(pairs, Pair{at.time(), at.id()})
			}
			return len(pairs) < q.limit, err
		})
		if err != nil {
			return nil, err
		}
		answers = append(answers, pairs)
	}
}

// SetFormat writes another format version.
func SetFormat(s *Store, n uint32) {
	if err := s.db.Set(keyMeta(metaFormat), binary.BigEndian.AppendUint32(nil, n), pebble.Sync); err != nil {
		panic(err)
	}
}
