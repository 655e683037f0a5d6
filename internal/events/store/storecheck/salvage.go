package storecheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// salvaged has the versions in the files of a store that the engine cannot read, gathered in a scratch store of the engine: under every key all
// versions in any file, the newest first. Files that the engine had given up and not yet removed count too, so something that was removed long
// ago may be there once more; the rules of the store see to that.
type salvaged struct {
	db  *pebble.DB
	fs  vfs.FS
	dir string
}

// salvage reads every file in the store's directory, and calls problem for what it cannot read.
func salvage(o store.Options, problem func(format string, args ...any)) (_ *salvaged, err error) {
	dir := o.Dir + kv.SuffixSalvage
	if err := o.FS.RemoveAll(dir); err != nil {
		return nil, err
	}
	p := kv.Tuning{
		FS: o.FS, CacheBytes: o.CacheBytes, TableBytes: o.TableBytes, Simulated: o.FS != vfs.Default, Logger: o.Logger, Fail: func(error) {},
	}.Options()
	p.DisableWAL = true
	db, err := pebble.Open(dir, p)
	if err != nil {
		return nil, fmt.Errorf("salvage: %w", err)
	}
	s := &salvaged{db, o.FS, dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("salvage: %w", err), s.Close())
		}
	}()
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.file(o.FS.PathJoin(o.Dir, name), problem); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// file takes the versions of one file, if it is a table or a log of the engine.
func (s *salvaged) file(path string, problem func(string, ...any)) error {
	w := &salvageWriter{db: s.db, b: s.db.NewBatch()}
	bad, err := 0, error(nil)
	what := ""
	switch name := s.fs.PathBase(path); {
	case kv.IsTable(name):
		what = "blocks"
		bad, err = kv.ReadTable(s.fs, path, w.take)
	case kv.IsWAL(name):
		what = "places"
		bad, err = kv.ReadWAL(s.fs, path, w.take)
	}
	if bad > 0 {
		problem("%s: %d unreadable %s", path, bad, what)
	}
	return errors.Join(err, w.flush())
}

// carried has the tables from which a repair takes what is there. All other tables follow from these.
const carried = "mlirpsdDwcjoRSU"

// salvageWriter writes into the scratch store.
type salvageWriter struct {
	db *pebble.DB
	b  *pebble.Batch
}

func (w *salvageWriter) take(v kv.Version) error {
	if len(v.Key) == 0 || bytes.IndexByte([]byte(carried), v.Key[0]) < 0 {
		return nil
	}
	key := binary.BigEndian.AppendUint64(bytes.Clone(v.Key), ^v.Number)
	value := []byte{1}
	if v.Gone {
		value[0] = 0
	}
	if err := w.b.Set(key, append(value, v.Value...), nil); err != nil || w.b.Len() < 1<<20 {
		return err
	}
	err := w.flush()
	w.b = w.db.NewBatch()
	return err
}

func (w *salvageWriter) flush() error {
	return errors.Join(w.b.Commit(pebble.NoSync), w.b.Close())
}

// Each calls do with the newest value of every key of a table, in order.
func (s *salvaged) Each(table byte, do func(key, value []byte) error) error {
	var last []byte
	return index.EachKey(s.db, table, func(key, value []byte) error {
		if len(key) <= 8 || len(value) == 0 {
			return layout.ErrCorrupt // the scratch store is corrupt
		}
		key = key[:len(key)-8]
		if bytes.Equal(key, last) {
			return nil
		}
		last = append(last[:0], key...)
		if value[0] == 0 {
			return nil
		}
		return do(key, value[1:])
	})
}

// Close closes and removes the scratch store.
func (s *salvaged) Close() error {
	return errors.Join(s.db.Close(), s.fs.RemoveAll(s.dir))
}
