package store

import (
	"context"
	"encoding/binary"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// records checks that what is remembered is not stored, and has its rows.
func (c *checker) records(ctx context.Context) error {
	err := c.each(ctx, tableRecord, func(key, value []byte) error {
		if len(key) != 33 {
			c.problem("record: key of %d bytes", len(key))
			return nil
		}
		id := nostr.ID(key[1:])
		r, err := parseRecord(id, value)
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
	return c.rowCount(ctx, flagBit, c.report.RememberedRows+c.found.rows, "flagged rows")
}

func (c *checker) remembered(r record) error {
	if _, _, stored, err := c.lookup(r.id); err != nil {
		return err
	} else if stored {
		c.problem("%s is stored and remembered", r.id)
	}
	if r.due != 0 {
		c.queued++
		if err := c.expect(timedKey(tableQueue, r.due, r.id), nil, "place of %s in the queue", r.id); err != nil {
			return err
		}
	}
	rows := &c.report.RememberedRows
	if r.why == policy.Wait {
		c.found.records++
		rows = &c.found.rows
		if err := c.expect(keyID(tableWait, r.id), nil, "wait of %s", r.id); err != nil {
			return err
		}
	} else {
		c.report.Remembered++
	}
	if r.why == policy.Unused {
		m := c.ages[r.author]
		m.aged++
		c.ages[r.author] = m
	}
	value := r.row().append(make([]byte, 0, maxRow))
	return r.eachRow(func(p []byte, of cases) error {
		*rows++
		return c.expect(appendOrder(flagged(p), r.time, r.id), of.append(value), "flagged row %q of %s", p[0], r.id)
	})
}

func (c *checker) queue(ctx context.Context) error {
	return c.tableCount(ctx, tableQueue, c.queued, "places in the queue")
}

func (c *checker) slots(ctx context.Context) error {
	var live int64
	err := c.each(ctx, tableSlot, func(_, value []byte) error {
		s, err := parseSlot(value)
		if err != nil {
			c.problem("%v", err)
		} else if s.state == slotLive {
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
	err := c.each(ctx, tableAnnouncement, func(key, value []byte) error {
		n++
		if len(key) != 1+hashLen+8 || len(value) != 8 {
			c.problem("announcement list: %v", errCorrupt)
			return nil
		}
		seq := Seq(binary.BigEndian.Uint64(value))
		v, ok, err := get(c.r, logKey(seq))
		if err != nil {
			return err
		}
		if !ok {
			c.problem("announcement list: entry %d is not there", seq)
			return nil
		}
		e, err := addedEntry(seq, v)
		if err == nil && (e.Event.Kind != nip34.KindRepository || hashOf(e.Event.Tags.D()) != hash(key[1:1+hashLen])) {
			c.problem("announcement list: entry %d does not belong there", seq)
		}
		return nil
	})
	if n != c.announced {
		c.problem("announcement list: %d there, %d expected", n, c.announced)
	}
	return err
}

// requests checks that what keeps an author's events away is a request that is stored.
func (c *checker) requests(ctx context.Context) error {
	return c.each(ctx, tableVanished, func(key, value []byte) error {
		if len(key) != 1+32 {
			c.problem("request to vanish: key of %d bytes", len(key))
			return nil
		}
		author := nostr.PubKey(key[1:])
		if _, err := parseVanishing(value); err != nil {
			c.problem("%v", err)
		} else if !c.newest[author] {
			c.problem("the request of %s to vanish is not there", author)
		}
		return nil
	})
}

// purges checks that removals under way can go on.
func (c *checker) purges(ctx context.Context) error {
	return c.each(ctx, tablePurge, func(key, value []byte) error {
		if p, err := parsePurge(key, value); err != nil {
			c.problem("%v", err)
		} else if p.why == ReasonVanished {
			if req, ok, err := c.vanished(p.author); err != nil {
				return err
			} else if !ok || req.until != p.until {
				c.problem("events of %s are being removed and there is no such request", p.author)
			}
		}
		return nil
	})
}

// deletions checks that what is left of deletions can be done.
func (c *checker) deletions(ctx context.Context) error {
	return c.each(ctx, tableUnfinished, func(key, value []byte) error {
		u, seq, err := parseUnfinished(key, value)
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		_, at, ok, err := c.lookup(u.id)
		if err != nil {
			return err
		}
		if !ok || at.seq != seq || at.kind != nostr.KindDeletion {
			c.problem("what %s deletes is being removed and there is no such deletion", u.id)
		}
		return nil
	})
}

// unused checks that the deletions that have removed nothing age, and that their authors' are counted; and that marks can be read.
func (c *checker) unused(ctx context.Context) error {
	var n int64
	err := c.each(ctx, tableUnused, func(key, value []byte) error {
		u, err := parseUnused(key, value)
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		m := c.ages[u.author]
		m.unused++
		c.ages[u.author] = m
		n++
		if err := c.expect(keyID(tableUnusedDue, u.id), key[1:9], "when %s ages", u.id); err != nil {
			return err
		}
		_, at, ok, err := c.lookup(u.id)
		if err != nil || !ok {
			c.problem("%s ages and is not there", u.id)
			return err
		}
		e, err := c.event(at.seq)
		if err == nil && (e.Kind != nostr.KindDeletion || e.PubKey != u.author) {
			c.problem("%s ages and is no deletion by %s", u.id, u.author)
		}
		return err
	})
	if err == nil {
		err = c.tableCount(ctx, tableUnusedDue, n, "deletions that age")
	}
	for _, table := range []byte{tableDeletedID, tableDeletedAddress} {
		if err != nil {
			return err
		}
		err = c.each(ctx, table, func(key, value []byte) error {
			if _, err := parseMark(key, value); err != nil {
				c.problem("%v", err)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	err = c.each(ctx, tableMarks, func(key, value []byte) error {
		m, err := parseMarks(value)
		if err != nil || len(key) != 1+32 {
			c.problem("number of marks: %v", errCorrupt)
			return nil
		}
		author := nostr.PubKey(key[1:])
		if have := c.ages[author]; have.unused != m.unused || have.aged != m.aged {
			c.problem("unused deletions of %s: %d and %d are counted, %d and %d there", author, m.unused, m.aged, have.unused, have.aged)
		}
		delete(c.ages, author)
		return nil
	})
	if len(c.ages) > 0 {
		c.problem("unused deletions of %d authors are not counted", len(c.ages))
	}
	return err
}

// named checks that rows are such as could be set.
func (c *checker) named(ctx context.Context) error {
	return c.each(ctx, tableRow, func(key, value []byte) error {
		c.report.Named++
		if err := badRow(string(key[1:]), len(value)); err != nil {
			c.problem("%v", err)
		}
		return nil
	})
}

// aside checks that what is put aside is whole.
func (c *checker) aside(ctx context.Context) error {
	w := newProver(c.opt.Verifier, func(p proven) error {
		c.report.Aside++
		if p.err != nil {
			c.problem("event that is put aside %d: %v", p.Seq, p.err)
		}
		return nil
	})
	err := c.each(ctx, tableAside, func(key, value []byte) error {
		_, seq, ok := parseAsideKey(key)
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
	return c.tableCount(ctx, tableExpiry, c.expiring, "expirations")
}

func (c *checker) counts(context.Context) error {
	for _, n := range []struct {
		name       string
		have, want int64
	}{
		{"events", c.counters.events, c.report.Events},
		{"repositories", c.counters.repositories, c.announced},
		{"remembered", c.counters.flagged, c.report.Remembered},
		{"remembered rows", c.counters.flaggedRows, c.report.RememberedRows},
		{"numbers", int64(c.counters.seqs), int64(c.sum)},
		{"waiting", c.counters.waiting, c.report.Waiting},
		{"bytes that wait", c.counters.waitingBytes, c.found.bytes},
	} {
		if n.have != n.want {
			c.problem("counter of %s: %d, counted %d", n.name, n.have, n.want)
		}
	}
	return nil
}
