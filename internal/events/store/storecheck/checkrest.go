package storecheck

import (
	"context"
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// records checks that no remembered event is stored, and that each has its rows.
func (c *checker) records(ctx context.Context) error {
	err := c.each(ctx, layout.TableRecord, func(key, value []byte) error {
		if len(key) != 33 {
			c.problem("record: key of %d bytes", len(key))
			return nil
		}
		id := nostr.ID(key[1:])
		r, err := layout.ParseRecord(id, value)
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		return c.remembered(r)
	})
	if err != nil {
		return err
	}
	if c.found.records != c.report.Waiting {
		c.problem("records of what waits: %d there, %d expected", c.found.records, c.report.Waiting)
	}
	return c.rowCount(ctx, layout.FlagBit, c.report.RememberedRows+c.found.rows, "flagged rows")
}

func (c *checker) remembered(r layout.Record) error {
	if _, _, stored, err := c.Lookup(r.ID); err != nil {
		return err
	} else if stored {
		c.problem("%s is stored and remembered", r.ID)
	}
	if r.Due != 0 {
		c.queued++
		if err := c.expect(layout.TimedKey(layout.TableQueue, r.Due, r.ID), nil, "place of %s in the queue", r.ID); err != nil {
			return err
		}
	}
	rows := &c.report.RememberedRows
	if r.Why == policy.Wait {
		c.found.records++
		rows = &c.found.rows
		if err := c.expect(layout.IDKey(layout.TableWait, r.ID), nil, "wait of %s", r.ID); err != nil {
			return err
		}
	} else {
		c.report.Remembered++
	}
	if r.Why == policy.Unused {
		m := c.ages[r.Author]
		m.Aged++
		c.ages[r.Author] = m
	}
	value := r.Row().Append(make([]byte, 0, layout.MaxRow))
	return r.EachRow(func(p []byte, of layout.Cases) error {
		*rows++
		return c.expect(layout.AppendOrder(layout.Flagged(p), r.Time, r.ID), of.Append(value), "flagged row %q of %s", p[0], r.ID)
	})
}

func (c *checker) queue(ctx context.Context) error {
	return c.tableCount(ctx, layout.TableQueue, c.queued, "places in the queue")
}

func (c *checker) slots(ctx context.Context) error {
	var live int64
	err := c.each(ctx, layout.TableSlot, func(_, value []byte) error {
		s, err := layout.ParseSlot(value)
		if err != nil {
			c.problem("%v", err)
		} else if s.State == layout.SlotLive {
			live++
		}
		return nil
	})
	if live != c.replaceable {
		c.problem("newest versions: %d there, %d expected", live, c.replaceable)
	}
	return err
}

// announcements checks the list by d: every entry leads to a stored announcement with that d, and there are as many.
func (c *checker) announcements(ctx context.Context) error {
	var n int64
	err := c.each(ctx, layout.TableAnnouncement, func(key, value []byte) error {
		n++
		if len(key) != 1+layout.HashLen+8 || len(value) != 8 {
			c.problem("announcement list: %v", layout.ErrCorrupt)
			return nil
		}
		seq := layout.Seq(binary.BigEndian.Uint64(value))
		v, ok, err := index.Get(c.From, layout.LogKey(seq))
		if err != nil {
			return err
		}
		if !ok {
			c.problem("announcement list: entry %d is not there", seq)
			return nil
		}
		e, err := layout.AddedEntry(seq, v)
		if err == nil && (e.Event.Kind != nip34.KindRepository || layout.HashOf(e.Event.Tags.D()) != layout.Hash(key[1:1+layout.HashLen])) {
			c.problem("announcement list: entry %d does not belong there", seq)
		}
		return nil
	})
	if n != c.announced {
		c.problem("announcement list: %d there, %d expected", n, c.announced)
	}
	return err
}

// requests checks that each request to vanish that keeps events away is stored.
func (c *checker) requests(ctx context.Context) error {
	return c.each(ctx, layout.TableVanished, func(key, value []byte) error {
		if len(key) != 1+32 {
			c.problem("request to vanish: key of %d bytes", len(key))
			return nil
		}
		author := nostr.PubKey(key[1:])
		if _, err := layout.ParseVanishing(value); err != nil {
			c.problem("%v", err)
		} else if !c.newest[author] {
			c.problem("the request of %s to vanish is not there", author)
		}
		return nil
	})
}

// purges checks that removals under way can go on.
func (c *checker) purges(ctx context.Context) error {
	return c.each(ctx, layout.TablePurge, func(key, value []byte) error {
		if p, err := layout.ParsePurge(key, value); err != nil {
			c.problem("%v", err)
		} else if p.Why == layout.ReasonVanished {
			if req, ok, err := c.Vanished(p.Author); err != nil {
				return err
			} else if !ok || req.Until != p.Until {
				c.problem("events of %s are being removed and there is no such request", p.Author)
			}
		}
		return nil
	})
}

// deletions checks that unfinished deletions can go on.
func (c *checker) deletions(ctx context.Context) error {
	return c.each(ctx, layout.TableUnfinished, func(key, value []byte) error {
		u, seq, err := layout.ParseUnfinished(key, value)
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		_, at, ok, err := c.Lookup(u.ID)
		if err != nil {
			return err
		}
		if !ok || at.Seq != seq || at.Kind != nostr.KindDeletion {
			c.problem("what %s deletes is being removed and there is no such deletion", u.ID)
		}
		return nil
	})
}

// unused checks the rows of unused deletions, their counts by author, and that marks can be read.
func (c *checker) unused(ctx context.Context) error {
	var n int64
	err := c.each(ctx, layout.TableUnused, func(key, value []byte) error {
		u, err := layout.ParseUnused(key, value)
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		m := c.ages[u.Author]
		m.Unused++
		c.ages[u.Author] = m
		n++
		if err := c.expect(layout.IDKey(layout.TableUnusedDue, u.ID), key[1:9], "when %s ages", u.ID); err != nil {
			return err
		}
		_, at, ok, err := c.Lookup(u.ID)
		if err != nil || !ok {
			c.problem("%s ages and is not there", u.ID)
			return err
		}
		e, err := c.Event(at.Seq)
		if err == nil && (e.Kind != nostr.KindDeletion || e.PubKey != u.Author) {
			c.problem("%s ages and is no deletion by %s", u.ID, u.Author)
		}
		return err
	})
	if err == nil {
		err = c.tableCount(ctx, layout.TableUnusedDue, n, "deletions that age")
	}
	for _, table := range []byte{layout.TableDeletedID, layout.TableDeletedAddress} {
		if err != nil {
			return err
		}
		err = c.each(ctx, table, func(key, value []byte) error {
			if _, err := layout.ParseDeletionMark(key, value); err != nil {
				c.problem("%v", err)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	err = c.each(ctx, layout.TableMarks, func(key, value []byte) error {
		m, err := layout.ParseMarkCount(value)
		if err != nil || len(key) != 1+32 {
			c.problem("number of marks: %v", layout.ErrCorrupt)
			return nil
		}
		author := nostr.PubKey(key[1:])
		if have := c.ages[author]; have.Unused != m.Unused || have.Aged != m.Aged {
			c.problem("unused deletions of %s: %d and %d are counted, %d and %d there", author, m.Unused, m.Aged, have.Unused, have.Aged)
		}
		delete(c.ages, author)
		return nil
	})
	if len(c.ages) > 0 {
		c.problem("unused deletions of %d authors are not counted", len(c.ages))
	}
	return err
}

// named checks that SetRow would take each named row.
func (c *checker) named(ctx context.Context) error {
	return c.each(ctx, layout.TableRow, func(key, value []byte) error {
		c.report.Named++
		if err := layout.BadRow(string(key[1:]), len(value)); err != nil {
			c.problem("%v", err)
		}
		return nil
	})
}

// aside checks that every event that is put aside is whole.
func (c *checker) aside(ctx context.Context) error {
	w := newProver(c.opt.Verifier, func(p proven) error {
		c.report.Aside++
		if p.err != nil {
			c.problem("event that is put aside %d: %v", p.Seq, p.err)
		}
		return nil
	})
	err := c.each(ctx, layout.TableAside, func(key, value []byte) error {
		_, seq, ok := layout.ParseAsideKey(key)
		if !ok {
			c.problem("what is put aside: key of %d bytes", len(key))
			return nil
		}
		return w.take(seq, value)
	})
	if err != nil {
		return err
	}
	return w.flush()
}

func (c *checker) expiries(ctx context.Context) error {
	return c.tableCount(ctx, layout.TableExpiry, c.expiring, "expirations")
}

func (c *checker) counts(context.Context) error {
	for _, n := range []struct {
		name       string
		have, want int64
	}{
		{"events", c.counters.Events, c.report.Events},
		{"repositories", c.counters.Repositories, c.announced},
		{"remembered", c.counters.Flagged, c.report.Remembered},
		{"remembered rows", c.counters.FlaggedRows, c.report.RememberedRows},
		{"numbers", int64(c.counters.Seqs), int64(c.sum)},
		{"waiting", c.counters.Waiting, c.report.Waiting},
		{"bytes that wait", c.counters.WaitingBytes, c.found.bytes},
	} {
		if n.have != n.want {
			c.problem("counter of %s: %d, counted %d", n.name, n.have, n.want)
		}
	}
	return nil
}
