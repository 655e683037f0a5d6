package mend

import (
	"bytes"
	"encoding/binary"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// What follows here does not follow from the stored events and is carried over as it is, where it can be read.

// marks takes the marks of deletions, before the events that they keep away: the deletion may have expired since.
func (r *rebuild) marks() error {
	for _, table := range []byte{layout.TableDeletedID, layout.TableDeletedAddress} {
		err := r.from.Each(table, func(key, value []byte) error {
			if _, err := layout.ParseDeletionMark(key, value); err != nil {
				r.report.problem("%v", err)
				return nil
			}
			return r.put(key, value)
		})
		if err != nil {
			return err
		}
	}
	err := r.from.Each(layout.TableMarks, func(key, value []byte) error {
		m, err := layout.ParseMarkCount(value)
		if err != nil || len(key) != 1+32 {
			r.report.problem("number of marks: %v", layout.ErrCorrupt)
			return nil
		}
		m.Unused, m.Aged = 0, 0 // they are counted anew
		if m == (layout.MarkCount{}) {
			return nil
		}
		return r.put(key, m.Append(nil))
	})
	if err != nil {
		return err
	}
	return r.from.Each(layout.TableUnused, func(key, value []byte) error {
		u, err := layout.ParseUnused(key, value)
		if err != nil {
			r.report.problem("%v", err)
			return nil
		}
		r.unused[u.ID] = u.Due
		return nil
	})
}

// slots takes the slots whose newest version is gone, and of the other slots only since when they are live.
func (r *rebuild) slots() error {
	return r.from.Each(layout.TableSlot, func(key, value []byte) error {
		s, err := layout.ParseSlot(value)
		if err != nil || len(key) != 1+layout.HashLen {
			r.report.problem("slot: %v", layout.ErrCorrupt)
			return nil
		}
		if s.State != layout.SlotLive {
			return r.put(key, value)
		}
		if s.First != s.Seq {
			r.firsts[layout.Hash(key[1:])] = s.First
		}
		return nil
	})
}

// records takes what is remembered of events that are not stored.
func (r *rebuild) records() error {
	return r.from.Each(layout.TableRecord, func(key, value []byte) error {
		if len(key) != 1+32 {
			r.report.problem("record: key of %d bytes", len(key))
			return nil
		}
		rec, err := layout.ParseRecord(nostr.ID(key[1:]), value)
		if err != nil {
			r.report.problem("%v", err)
			return nil
		}
		if rec.Why == policy.Wait { // it comes with the event
			return nil
		}
		r.epoch = max(r.epoch, rec.Epoch)
		f, err := r.refill()
		if err != nil {
			return err
		}
		if err := f.Remember(rec); err != nil {
			return err
		}
		return r.commit(rebuildOps)
	})
}

// purges lets removals of an author's events that were under way begin again. Those of authors who vanished have begun
// with the request.
func (r *rebuild) purges() error {
	return r.from.Each(layout.TablePurge, func(key, value []byte) error {
		p, err := layout.ParsePurge(key, value)
		if err != nil {
			r.report.problem("%v", err)
			return nil
		}
		if p.Why == layout.ReasonVanished {
			return nil
		}
		p = layout.NewPurge(p.Why, p.Author, p.Until)
		return r.put(p.Key(), p.Append(nil))
	})
}

// lost tells of the events whose entry could not be read, which the ids still name.
func (r *rebuild) lost() error {
	v := r.to.View()
	defer v.Close()
	if missing := r.all - v.Counters().Events - r.report.LeftOut; missing > 0 {
		r.report.problem("%d of the %d events that were counted are not there", missing, r.all)
	}
	return r.from.Each(layout.TableID, func(key, _ []byte) error {
		if len(key) != 1+32 {
			r.report.problem("id row: key of %d bytes", len(key))
			return nil
		}
		id := nostr.ID(key[1:])
		k, err := v.Known(id)
		if err == nil && k.State == index.Unknown {
			r.report.problem("event %s is lost with its entry", id)
		}
		return err
	})
}

func (r *rebuild) notes() error {
	return r.from.Each(layout.TableNote, func(key, value []byte) error { return r.put(key, value) })
}

// rows takes the rows that SetRow would take. What a lost event has changed in a row stays changed.
func (r *rebuild) rows() error {
	return r.from.Each(layout.TableRow, func(key, value []byte) error {
		if err := layout.BadRow(string(key[1:]), len(value)); err != nil {
			r.report.problem("%v", err)
			return nil
		}
		return r.put(key, value)
	})
}

// aside takes what is put aside and can be read.
func (r *rebuild) aside() error {
	return r.from.Each(layout.TableAside, func(key, value []byte) error {
		_, seq, ok := layout.ParseAsideKey(key)
		if !ok {
			r.report.problem("what is put aside: key of %d bytes", len(key))
			return nil
		}
		if p := (&prover{verifier: r.check.Verifier}).prove(seq, value); p.err != nil {
			r.report.problem("event that is put aside %d: %v", seq, p.err)
			return nil
		}
		return r.put(key, value)
	})
}

// rules takes the fingerprint of the rules and their epoch. Where that cannot be read, what they refused is forgotten.
func (r *rebuild) rules() error {
	var rules []byte
	err := r.from.Each(layout.TableMeta, func(key, value []byte) error {
		if string(key[1:]) == layout.MetaRules && len(value) >= 4 {
			rules = bytes.Clone(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if rules == nil {
		rules = binary.BigEndian.AppendUint32(nil, r.epoch+1)
	}
	return r.put(layout.MetaKey(layout.MetaRules), rules)
}
