package storecheck

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rebuild fills a new store from what is left of an old one.
type rebuild struct {
	*repair
	from source
	to   *store.Store
	f    *store.Refill // the open Refill; nil without one

	head, all int64                      // what the old counters say
	done      int64                      // entries looked at
	epoch     uint32                     // of the rules; 0 where that cannot be read
	unused    map[nostr.ID]int64         // unused deletions, and when they are due
	firsts    map[layout.Hash]layout.Seq // the entry by which an address was first accepted, before its present version
}

// rebuildOps is how many writes go into a commit.
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

// refill returns the open store.Refill, and begins one where none is open.
func (r *rebuild) refill() (*store.Refill, error) {
	if r.f == nil {
		f, err := r.to.Refill(layout.Seq(r.head))
		if err != nil {
			return nil, err
		}
		r.f = f
	}
	return r.f, nil
}

// commit commits the open store.Refill when it has enough writes or bytes.
func (r *rebuild) commit(enough int) error {
	if err := r.stopped(); err != nil {
		return err
	}
	if r.f == nil || r.f.Len() < enough && r.f.Size() < 4<<20 {
		return nil
	}
	f := r.f
	r.f = nil
	return f.Commit()
}

// put writes a key as it was.
func (r *rebuild) put(key, value []byte) error {
	f, err := r.refill()
	if err != nil {
		return err
	}
	if err := f.Put(key, value); err != nil {
		return err
	}
	return r.commit(rebuildOps)
}

// meta reads what the old store counted.
func (r *rebuild) meta() error {
	return r.from.Each(layout.TableMeta, func(key, value []byte) error {
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

// events adds the entries of the log in their order under their numbers. An expired event stays, and goes later in the usual way: the clock of
// the moment has no part in a repair.
func (r *rebuild) events() error {
	if err := r.from.Each(layout.TableLog, func(key, _ []byte) error {
		if len(key) == 9 {
			r.head = max(r.head, int64(binary.BigEndian.Uint64(key[1:])))
		}
		return nil
	}); err != nil {
		return err
	}
	p := newProver(r.check.Verifier, r.entry)
	err := r.from.Each(layout.TableLog, func(key, value []byte) error {
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
	f, err := r.refill()
	if err != nil {
		return err
	}
	out, err := f.Add(p.Entry, r.origin(p.Entry))
	if err != nil {
		return fmt.Errorf("entry %d: %w", p.Seq, err)
	}
	if out != policy.Accept {
		r.report.LeftOut++
	}
	return r.commit(rebuildOps)
}

// origin returns what the old store says about an entry in other rows: the place of its address among the announcements, and whether a deletion
// ages or stands for ever.
func (r *rebuild) origin(x layout.Entry) (o store.Origin) {
	switch x.Event.Kind {
	case nostr.KindDeletion:
		o.Due, o.Ages = r.unused[x.Event.ID]
	case nip34.KindRepository:
		o.First = r.firsts[layout.HashOf(x.Event.Address())]
	}
	return o
}
