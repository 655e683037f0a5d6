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
// anew from the log and from what is remembered. From its first commit on the store has the version of now and a mark of
// how far the conversion is, so no older program takes it for its own, and one that was interrupted goes on.
func (s *Store) convert() error {
	c := conversion{s: s, w: s.db.NewBatch(), began: time.Now(), batch: s.opt.convertBatch}
	if c.batch == 0 {
		c.batch = 1 << 20
	}
	if err := c.run(); err != nil {
		return fmt.Errorf("convert: %w", damaged(err))
	}
	s.opt.Logger.Info("converted the store", "count", c.events, "after", time.Since(c.began).Round(time.Millisecond))
	return nil
}

// changedTables are those whose rows were others in format 1.
var changedTables = [...]byte{tableTime, tableAuthor, tableTag, tableTime - flagBit, tableAuthor - flagBit, tableTag - flagBit}

func isChanged(prefix []byte) bool {
	return prefix[0] == tableTime || prefix[0] == tableAuthor || prefix[0] == tableTag
}

type conversion struct {
	s     *Store
	w     *pebble.Batch
	batch int // bytes of a commit

	last         Seq   // the entry of the log that was done last
	events, rows int64 // entries done, and rows of remembered events
	began, told  time.Time
}

func (c *conversion) run() (err error) {
	defer func() { c.w.Close() }()
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.log(); err != nil {
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
	if err := c.w.Delete(keyMeta(metaConverting), nil); err != nil {
		return err
	}
	return c.apply(pebble.Sync)
}

// begin drops the rows of before, unless an interrupted conversion did.
func (c *conversion) begin() error {
	at, ok, err := get(c.s.db, keyMeta(metaConverting))
	if err != nil {
		return err
	}
	if ok {
		if len(at) != 8 {
			return fmt.Errorf("conversion: %w", errCorrupt)
		}
		c.last = Seq(binary.BigEndian.Uint64(at))
		return nil
	}
	var size uint64 // that is written anew
	for _, t := range changedTables {
		n, err := c.s.db.EstimateDiskUsage([]byte{t}, []byte{t + 1})
		if err != nil {
			return err
		}
		size += n
		if err := c.w.DeleteRange([]byte{t}, []byte{t + 1}, nil); err != nil {
			return err
		}
	}
	if err := c.s.room(int(2 * size)); err != nil {
		return err
	}
	if err := c.w.Set(keyMeta(metaFormat), binary.BigEndian.AppendUint32(nil, formatVersion), nil); err != nil {
		return err
	}
	return c.commit(pebble.Sync)
}

// log writes the rows of the entries that are not done.
func (c *conversion) log() (err error) {
	it, err := c.s.db.NewIter(&pebble.IterOptions{LowerBound: logKey(c.last + 1), UpperBound: []byte{tableLog + 1}})
	if err != nil {
		return err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) != 1+8 {
			return fmt.Errorf("log: key of %d bytes: %w", len(it.Key()), errCorrupt)
		}
		x, err := addedEntry(Seq(binary.BigEndian.Uint64(it.Key()[1:])), it.Value())
		if err != nil {
			return err
		}
		at := rowOf(x.Event, x.Seq).append(make([]byte, 0, maxRow))
		if err := c.index(factsOf(x.Event), at, func(prefix []byte) []byte { return prefix }); err != nil {
			return err
		}
		c.last, c.events = x.Seq, c.events+1
		if err := c.commitFull(); err != nil {
			return err
		}
	}
	return it.Error()
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
	if err := c.index(r.facts, r.row().append(make([]byte, 0, maxRow)), flagged); err != nil {
		return err
	}
	return c.commitFull()
}

func (c *conversion) index(f facts, value []byte, table func(prefix []byte) []byte) error {
	return f.eachRow(func(p []byte, of cases) error {
		if !isChanged(p) {
			return nil
		}
		return c.w.Set(appendOrder(table(p), f.time, f.id), of.append(value), nil)
	})
}

// commitFull commits when there is enough to commit, and looks whether to go on.
func (c *conversion) commitFull() error {
	if c.w.Len() < c.batch {
		return nil
	}
	if time.Since(c.told) >= 10*time.Second {
		c.s.opt.Logger.Info("converting the store to the layout of this version", "count", c.events)
		c.told = time.Now()
	}
	if err := c.commit(pebble.NoSync); err != nil {
		return err
	}
	if err := c.s.opt.Stopped(); err != nil {
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	return nil
}

// commit writes how far it is with what was done.
func (c *conversion) commit(o *pebble.WriteOptions) error {
	if err := c.w.Set(keyMeta(metaConverting), binary.BigEndian.AppendUint64(nil, uint64(c.last)), nil); err != nil {
		return err
	}
	return c.apply(o)
}

func (c *conversion) apply(o *pebble.WriteOptions) error {
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
