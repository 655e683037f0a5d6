package storecheck

import (
	"context"
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// log checks that every stored event is whole and has everything that it should have.
func (c *checker) log(ctx context.Context) error {
	w := newProver(c.opt.Verifier, func(p proven) error { return c.entry(p) })
	err := c.each(ctx, layout.TableLog, func(key, value []byte) error {
		if len(key) != 9 {
			c.problem("log: key of %d bytes", len(key))
			return nil
		}
		return w.take(layout.Seq(binary.BigEndian.Uint64(key[1:])), value)
	})
	if err != nil {
		return err
	}
	return w.flush()
}

// entry checks one entry of the log.
func (c *checker) entry(p proven) error {
	if p.err != nil {
		c.problem("entry %d: %v", p.Seq, p.err)
	}
	if p.Event == nil {
		return nil
	}
	if p.Seq == 0 || p.Seq > c.counters.Head {
		c.problem("entry %d: head is %d", p.Seq, c.counters.Head)
	}
	c.report.Events++
	c.sum += p.Seq
	if c.opt.Progress != nil && c.report.Events%1000 == 0 {
		c.opt.Progress(c.report.Events, c.counters.Events)
	}
	return c.stored(p.Seq, p.Event)
}

func (c *checker) stored(seq layout.Seq, e *nostr.Event) error {
	r := layout.RowOf(e, seq)
	if err := c.expect(layout.IDKey(layout.TableID, e.ID), layout.AppendIDRow(nil, e.CreatedAt, r), "id row of %s", e.ID); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		c.announced++
	}
	if r.Expiration != layout.NoExpiration {
		c.expiring++
		if err := c.expect(layout.TimedKey(layout.TableExpiry, r.Expiration, e.ID), nil, "expiration of %s", e.ID); err != nil {
			return err
		}
	}
	if err := c.rules(seq, e); err != nil {
		return err
	}
	value := r.Append(make([]byte, 0, layout.MaxRow))
	return layout.FactsOf(e).EachRow(func(p []byte, of layout.Cases) error {
		c.report.Rows++
		table := p[0]
		return c.expect(layout.AppendOrder(p, e.CreatedAt, e.ID), of.Append(value), "row %q of %s", table, e.ID)
	})
}

// rules checks that a stored event may be stored: that it is not deleted, and the newest of its address.
func (c *checker) rules(seq layout.Seq, e *nostr.Event) error {
	out, err := index.IsDeleted(c.Reader, e)
	if err != nil {
		return err
	}
	if out != 0 {
		c.problem("%s is stored and deleted", e.ID)
	}
	leaving, err := c.vanishes(e)
	if err != nil {
		return err
	}
	if e.Kind == nostr.KindDeletion && !leaving { // a deletion that is leaving may have lost its marks to another
		if err := c.deletion(e); err != nil {
			return err
		}
	}
	address := e.Address()
	if address == "" {
		return nil
	}
	c.replaceable++
	s, ok, err := c.Slot(layout.HashOf(address))
	if err != nil {
		return err
	}
	if !ok || s.State != layout.SlotLive || s.ID != e.ID || s.Seq != seq || s.Time != e.CreatedAt {
		c.problem("%s is stored and not the newest of its address", e.ID)
	}
	return nil
}

// vanishes checks that a stored request to vanish counts. It reports whether an event is to go for such a request, and checks that its removal is
// under way.
func (c *checker) vanishes(e *nostr.Event) (leaving bool, err error) {
	whose, gone, err := c.VanishedFor(e)
	if err != nil {
		return false, err
	}
	if gone {
		p, ok, err := c.Purge(layout.ReasonVanished, whose)
		if err != nil {
			return false, err
		}
		if !ok || p.Until < e.CreatedAt {
			c.problem("%s is stored and %s has vanished", e.ID, whose)
		}
		return true, nil
	}
	if e.Kind != nostr.KindVanish {
		return false, nil
	}
	if req, ok, err := c.Vanished(e.PubKey); err != nil {
		return false, err
	} else if !ok || req != (layout.Vanishing{Until: e.CreatedAt, ID: e.ID}) {
		c.problem("request to vanish %s does not count", e.ID)
	} else {
		c.newest[e.PubKey] = true
	}
	return false, nil
}

// done returns how many tags of a stored deletion are done.
func (c *checker) done(e *nostr.Event) (int, error) {
	_, at, _, err := c.Lookup(e.ID)
	if err != nil {
		return 0, err
	}
	key := layout.UnfinishedKey(e.PubKey, at.Seq)
	v, ok, err := index.Get(c.From, key)
	if err != nil || !ok {
		return len(e.Tags), err
	}
	u, _, err := layout.ParseUnfinished(key, v)
	return min(u.Next, len(e.Tags)), err
}

// deletion checks that a stored deletion has left its marks, as far as it is done and no mark of its author was refused.
func (c *checker) deletion(e *nostr.Event) error {
	done, err := c.done(e)
	if err != nil {
		return err
	}
	m, err := c.MarkCount(e.PubKey)
	if err != nil {
		return err
	}
	for _, t := range e.Tags[:done] {
		if id, err := nostr.ParseID(t.Value()); err == nil && t.Name() == "e" {
			at, ok, err := c.MarkAt(layout.DeletedIDKey(id, e.PubKey))
			if err != nil {
				return err
			}
			if !ok && !m.Refused || ok && at.Time < e.CreatedAt {
				c.problem("mark of deletion %s for an id: missing", e.ID)
			}
		}
		if a, err := nip34.ParseAddress(t.Value()); err == nil && t.Name() == "a" && a.PubKey == e.PubKey {
			at, ok, err := c.MarkAt(layout.HashKey(layout.TableDeletedAddress, layout.HashOf(a.String())))
			if err != nil {
				return err
			}
			if !ok && !m.Refused || ok && at.Time < e.CreatedAt {
				c.problem("mark of deletion %s for an address: missing", e.ID)
			}
		}
	}
	return nil
}
