package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"graspd/internal/nostr"
)

// Format 1 had rows by time alone and by author alone of every event, and one for each case of a tag's name, without the
// cases in their values.

// convert brings a store of format 1 into the form of now: all rows of the tables that changed are dropped and written
// anew from the log and from what is remembered. The new version is written last, and makes it durable, so a conversion
// that is interrupted begins again.
func (s *Store) convert() error {
	began := time.Now()
	s.opt.Logger.Info("converting the store to the layout of this version")
	c := conversion{s: s, w: s.db.NewBatch()}
	if err := c.run(); err != nil {
		return fmt.Errorf("convert: %w", damaged(err))
	}
	s.opt.Logger.Info("converted the store", "count", c.events, "after", time.Since(began).Round(time.Millisecond))
	return nil
}

// changedTables are those whose rows were others in format 1.
var changedTables = [...]byte{tableTime, tableAuthor, tableTag, tableTime - flagBit, tableAuthor - flagBit, tableTag - flagBit}

func isChanged(prefix []byte) bool {
	return prefix[0] == tableTime || prefix[0] == tableAuthor || prefix[0] == tableTag
}

type conversion struct {
	s            *Store
	w            *pebble.Batch
	events, rows int64 // stored events, and rows of remembered ones
}

func (c *conversion) run() (err error) {
	defer func() { c.w.Close() }()
	for _, t := range changedTables {
		if err := c.w.DeleteRange([]byte{t}, []byte{t + 1}, nil); err != nil {
			return err
		}
	}
	if err := eachKey(c.s.db, tableLog, c.entry); err != nil {
		return err
	}
	if err := eachKey(c.s.db, tableRecord, c.record); err != nil {
		return err
	}
	n, err := readMeta(c.s.db)
	if err != nil {
		return err
	}
	n.flaggedRows = c.rows
	if err := c.w.Set(keyMeta(metaCounters), n.append(nil), nil); err != nil {
		return err
	}
	if err := c.w.Set(keyMeta(metaFormat), binary.BigEndian.AppendUint32(nil, formatVersion), nil); err != nil {
		return err
	}
	return c.commit(pebble.Sync)
}

func (c *conversion) commit(o *pebble.WriteOptions) error {
	if err := c.s.room(2 * c.w.Len()); err != nil {
		return err
	}
	if err := c.w.Commit(o); err != nil {
		return err
	}
	c.w.Close()
	c.w = c.s.db.NewBatch()
	return c.s.Failure()
}

// entry writes the rows of an entry of the log.
func (c *conversion) entry(key, value []byte) error {
	if len(key) != 1+8 {
		return fmt.Errorf("log: key of %d bytes: %w", len(key), errCorrupt)
	}
	x, err := addedEntry(Seq(binary.BigEndian.Uint64(key[1:])), value)
	if err != nil {
		return err
	}
	c.events++
	at := rowOf(x.Event, x.Seq).append(make([]byte, 0, maxRow))
	return c.index(factsOf(x.Event), at, func(prefix []byte) []byte { return prefix })
}

// record writes the rows of what is remembered.
func (c *conversion) record(key, value []byte) error {
	if len(key) != 1+32 {
		return fmt.Errorf("record: key of %d bytes: %w", len(key), errCorrupt)
	}
	r, err := parseRecord(nostr.ID(key[1:]), value)
	if err != nil {
		return err
	}
	c.rows += r.rows()
	return c.index(r.facts, r.row().append(make([]byte, 0, maxRow)), flagged)
}

func (c *conversion) index(f facts, value []byte, table func(prefix []byte) []byte) error {
	err := f.eachRow(func(p []byte, of cases) error {
		if !isChanged(p) {
			return nil
		}
		return c.w.Set(appendOrder(table(p), f.time, f.id), of.append(value), nil)
	})
	if err != nil || c.w.Len() < 1<<20 {
		return err
	}
	return c.commit(pebble.NoSync)
}
