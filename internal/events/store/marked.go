package store

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// marks is the part of a batch that has the marks of deletions, and how many of them each author has left.
type marks struct {
	*draft
	marked map[nostr.PubKey]layout.MarkCount // of authors whose deletions have left marks in the batch, or taken some back
}

// mark leaves a mark of a deletion, or makes an older mark as new as the deletion. here says that the event which the deletion names was
// here; a mark for anything else has an end.
func (ms *marks) mark(key []byte, del *nostr.Event, here bool) error {
	r := ms.reader()
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
		m, err := ms.marksOf(del.PubKey)
		if err != nil {
			return err
		}
		if !here && int64(m.N) >= ms.s.opt.MaxMarks {
			m.Refused = true
			ms.marked[del.PubKey] = m
			return nil
		}
		m.N++
		ms.marked[del.PubKey] = m
	}
	return ms.set(key, next.Append(nil, key[0]))
}

// unmark takes a mark back, and counts one less for its author.
func (ms *marks) unmark(key []byte, author nostr.PubKey) error {
	m, err := ms.marksOf(author)
	if err != nil {
		return err
	}
	if m.N > 0 { // a repair may have found a mark and no count
		m.N--
		ms.marked[author] = m
	}
	return ms.delete(key)
}

// marksOf returns how many marks an author's deletions have left, as this batch has it. The caller may write the answer into marked.
func (ms *marks) marksOf(author nostr.PubKey) (layout.MarkCount, error) {
	if m, ok := ms.marked[author]; ok {
		return m, nil
	}
	if ms.marked == nil {
		ms.marked = make(map[nostr.PubKey]layout.MarkCount)
	}
	return ms.reader().MarkCount(author)
}

// write writes the counts that have changed: at the commit, so that a batch of many deletions of one author writes one.
func (ms *marks) write() error {
	for author, m := range ms.marked {
		err := error(nil)
		if m == (layout.MarkCount{}) {
			err = ms.delete(layout.MarkCountKey(author))
		} else {
			err = ms.set(layout.MarkCountKey(author), m.Append(nil))
		}
		if err != nil {
			return err
		}
	}
	ms.marked = nil
	return nil
}

// keepMarks lets the marks of a deletion stand for ever.
func (ms *marks) keepMarks(del *nostr.Event) error {
	r := ms.reader()
	for _, key := range layout.DeletionMarkKeys(del) {
		m, ok, err := r.MarkAt(key)
		if err != nil {
			return err
		}
		if !ok || m.Until == 0 {
			continue
		}
		m.Until = 0
		if err := ms.set(key, m.Append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}

// usedMarks gives more time to the marks that have just kept an event away.
func (ms *marks) usedMarks(e *nostr.Event) error {
	if !layout.Deletable(e.Kind) {
		return nil
	}
	keys := [][]byte{layout.DeletedIDKey(e.ID, e.PubKey)}
	if a := e.Address(); a != "" {
		keys = append(keys, layout.HashKey(layout.TableDeletedAddress, layout.HashOf(a)))
	}
	r := ms.reader()
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
		if err := ms.set(key, m.Append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}

// agedAs returns the verdict under which an unused deletion is remembered: for long, unless its author has too many of these.
func (ms *marks) agedAs(author nostr.PubKey) (policy.Outcome, error) {
	m, err := ms.marksOf(author)
	if err != nil || int64(m.Aged) < ms.s.opt.MaxUnused {
		return policy.Unused, err
	}
	return policy.Refuse, nil
}

// countAged counts a record of an unused deletion that comes or goes.
func (ms *marks) countAged(r layout.Record, n int) error {
	if r.Why != policy.Unused {
		return nil
	}
	m, err := ms.marksOf(r.Author)
	if err != nil {
		return err
	}
	m.Aged = uint32(max(0, int64(m.Aged)+int64(n)))
	ms.marked[r.Author] = m
	return nil
}
