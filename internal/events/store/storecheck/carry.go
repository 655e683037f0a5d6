package storecheck

import (
	"bytes"
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The rows below do not follow from the stored events. A repair carries them over as they are, where it can read them.

// marks carries over the marks of deletions, before the events that they keep away: a deletion may have expired since.
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
		m.Unused, m.Aged = 0, 0 // the new store counts these anew
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

// slots carries over the slots whose newest version is gone. Of the other slots it takes only since when they are live.
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

// records carries over what is remembered of events that are not stored.
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
		if rec.Why == policy.Wait { // the event brings it
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

// purges begins the removals of authors' events again that were under way. Removals for a request to vanish have begun with the request.
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

// lost adds a problem for the events whose ids are there but whose entries could not be read.
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

// rows carries over the named rows that SetRow would take. A change that a lost event has made in a row stays.
func (r *rebuild) rows() error {
	return r.from.Each(layout.TableRow, func(key, value []byte) error {
		if err := layout.BadRow(string(key[1:]), len(value)); err != nil {
			r.report.problem("%v", err)
			return nil
		}
		return r.put(key, value)
	})
}

// aside carries over the events that are put aside and can be read.
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

// rules carries over the fingerprint of the rules and their epoch. Where the epoch cannot be read, the new store forgets what the rules refused.
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
