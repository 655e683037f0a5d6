package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// rebuild fills a new store from what is left of an old one.
type rebuild struct {
	*repair
	from source
	to   *Store
	b    *Batch // the open one, nil for none

	head, all int64                      // what the old counters say
	done      int64                      // entries looked at
	epoch     uint32                     // of the rules; 0 where that cannot be read
	unused    map[nostr.ID]int64         // deletions that have removed nothing, and when they are due
	firsts    map[layout.Hash]layout.Seq // where an address was accepted first before its version of now
}

// rebuildOps is how much is done in a commit.
const rebuildOps = 1000

func (r *rebuild) run() error {
	steps := []func() error{r.meta, r.marks, r.slots, r.events, r.waits, r.records, r.purges, r.lost, r.notes, r.rows, r.aside, r.rules}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := r.commit(0); err != nil {
			return err
		}
	}
	return nil
}

// batch is the open batch.
func (r *rebuild) batch() (*Batch, error) {
	if r.b == nil {
		b, err := r.to.Begin()
		if err != nil {
			return nil, err
		}
		b.counters.Head = max(b.counters.Head, layout.Seq(r.head))
		r.b = b
	}
	return r.b, nil
}

// commit commits when enough is done.
func (r *rebuild) commit(enough int) error {
	if err := r.stopped(); err != nil {
		return err
	}
	if r.b == nil || r.b.ops < enough && r.b.w.Len() < 4<<20 {
		return nil
	}
	b := r.b
	r.b = nil
	b.ops++ // marks alone are work, too
	_, err := b.Commit()
	return err
}

// put writes a key as it was, in the batch.
func (r *rebuild) put(key, value []byte) error {
	b, err := r.batch()
	if err != nil {
		return err
	}
	b.ops++
	if err := b.set(key, value); err != nil {
		return err
	}
	return r.commit(rebuildOps)
}

// meta reads what the old store counted.
func (r *rebuild) meta() error {
	return r.from.each(layout.TableMeta, func(key, value []byte) error {
		switch string(key[1:]) {
		case layout.MetaCounters:
			c, err := layout.ReadCounters(value)
			if err != nil {
				r.report.problem("%v", err)
			}
			r.head, r.all = int64(c.Head), c.Events
		case layout.MetaRules:
			if len(value) >= 4 {
				r.epoch = binary.BigEndian.Uint32(value)
			}
		case layout.MetaFormat:
			if len(value) == 4 {
				return layout.CheckFormat(value)
			}
		}
		return nil
	})
}

// events adds the entries of the log in their order under their numbers. What has expired stays: it goes in the usual
// way, and the clock of the moment has no part in a repair.
func (r *rebuild) events() error {
	if err := r.from.each(layout.TableLog, func(key, _ []byte) error {
		if len(key) == 9 {
			r.head = max(r.head, int64(binary.BigEndian.Uint64(key[1:])))
		}
		return nil
	}); err != nil {
		return err
	}
	p := newProver(r.check.Verifier, r.entry)
	err := r.from.each(layout.TableLog, func(key, value []byte) error {
		if len(key) != 9 || binary.BigEndian.Uint64(key[1:]) == 0 {
			r.report.problem("log: key of %d bytes", len(key))
			return nil
		}
		return p.take(layout.Seq(binary.BigEndian.Uint64(key[1:])), value)
	})
	if err != nil {
		return err
	}
	return p.flush()
}

func (r *rebuild) entry(p proven) error {
	if r.done++; r.check.Progress != nil && r.done%1000 == 0 {
		r.check.Progress(r.done, r.all)
	}
	if p.err != nil {
		r.report.problem("entry %d: %v", p.Seq, p.err)
		return nil
	}
	b, err := r.batch()
	if err != nil {
		return err
	}
	out, err := b.judge(p.Event, index.IsDuplicate, index.IsVanished, index.IsDeleted, index.IsSuperseded)
	if err != nil {
		return err
	}
	if out == policy.Accept {
		err = r.add(b, p.Entry)
	} else if r.report.LeftOut++; out != policy.Duplicate {
		err = b.remember(p.Event, out)
	}
	if err != nil {
		return fmt.Errorf("entry %d: %w", p.Seq, err)
	}
	return r.commit(rebuildOps)
}

// add stores an entry, in the place among the announcements that its address had.
func (r *rebuild) add(b *Batch, x layout.Entry) error {
	if err := b.add(x.Event, x.Seq, x.Source); err != nil {
		return err
	}
	if x.Event.Kind == nostr.KindDeletion {
		return r.deletion(b, x.Event)
	}
	if x.Event.Kind != nip34.KindRepository {
		return nil
	}
	h := layout.HashOf(x.Event.Address())
	first, ok := r.firsts[h]
	if !ok || first >= x.Seq {
		return nil
	}
	s, _, err := b.reader().Slot(h)
	if err != nil {
		return err
	}
	d := layout.HashOf(x.Event.Tags.D())
	if err := b.delete(layout.AnnouncementKey(d, s.First)); err != nil {
		return err
	}
	s.First = first
	if err := b.set(layout.AnnouncementKey(d, first), binary.BigEndian.AppendUint64(nil, uint64(x.Seq))); err != nil {
		return err
	}
	return b.set(layout.HashKey(layout.TableSlot, h), s.Append(nil))
}
