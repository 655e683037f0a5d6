package store

import (
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

// mark leaves a mark of a deletion, or makes the one that is there as new as it. One for what was not here has an end.
func (b *Batch) mark(key []byte, del *nostr.Event, here bool) error {
	b.used = b.used || here
	r := b.reader()
	at, ok, err := r.MarkAt(key)
	if err != nil {
		return err
	}
	next := layout.DeletionMark{Time: del.CreatedAt, Until: layout.GateUntil(del.CreatedAt, r.Now), Author: del.PubKey}
	if here {
		next.Until = 0
	}
	if ok && !at.Over(r.Now) {
		next.Time = max(next.Time, at.Time)
		if at.Until == 0 || next.Until == 0 {
			next.Until = 0
		} else {
			next.Until = max(next.Until, at.Until)
		}
		if next == at || next.Until == 0 && next.Time == at.Time && at.Until == 0 {
			return nil
		}
	}
	if !ok {
		m, err := b.marksOf(del.PubKey)
		if err != nil {
			return err
		}
		if !here && int64(m.N) >= b.s.opt.MaxMarks {
			m.Refused = true
			b.marked[del.PubKey] = m
			return nil
		}
		m.N++
		b.marked[del.PubKey] = m
	}
	return b.set(key, next.Append(nil, key[0]))
}

// unmark takes a mark back.
func (b *Batch) unmark(key []byte, author nostr.PubKey) error {
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	if m.N > 0 { // a repair may have found a mark and no count
		m.N--
		b.marked[author] = m
	}
	return b.delete(key)
}

// marksOf is as this batch has it.
func (b *Batch) marksOf(author nostr.PubKey) (layout.MarkCount, error) {
	if m, ok := b.marked[author]; ok {
		return m, nil
	}
	if b.marked == nil {
		b.marked = make(map[nostr.PubKey]layout.MarkCount)
	}
	return b.reader().MarkCount(author)
}

// writeMarks writes what has changed, once for all marks of the batch.
func (b *Batch) writeMarks() error {
	for author, m := range b.marked {
		err := error(nil)
		if m == (layout.MarkCount{}) {
			err = b.delete(layout.MarkCountKey(author))
		} else {
			err = b.set(layout.MarkCountKey(author), m.Append(nil))
		}
		if err != nil {
			return err
		}
	}
	b.marked = nil
	return nil
}

// keepMarks lets what a deletion names be kept away for ever.
func (b *Batch) keepMarks(del *nostr.Event) error {
	r := b.reader()
	for _, key := range layout.DeletionMarkKeys(del) {
		m, ok, err := r.MarkAt(key)
		if err != nil {
			return err
		}
		if !ok || m.Until == 0 {
			continue
		}
		m.Until = 0
		if err := b.set(key, m.Append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}

// usedMarks lets the marks stand longer that have kept an event away just now.
func (b *Batch) usedMarks(e *nostr.Event) error {
	if !layout.Deletable(e.Kind) {
		return nil
	}
	keys := [][]byte{layout.DeletedIDKey(e.ID, e.PubKey)}
	if a := e.Address(); a != "" {
		keys = append(keys, layout.HashKey(layout.TableDeletedAddress, layout.HashOf(a)))
	}
	r := b.reader()
	until := r.Now + 2*layout.UnusedGateSeconds
	for _, key := range keys {
		m, ok, err := r.MarkAt(key)
		if err != nil {
			return err
		}
		if !ok || m.Until == 0 || m.Over(r.Now) || until-m.Until < daySeconds { // which spares a write for each copy
			continue
		}
		m.Until = until
		if err := b.set(key, m.Append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}
