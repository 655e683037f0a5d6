package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ForgetOrphans forgets the events that were refused only because e was not here: the remembered events that name e's id or address, those
// that e names, and the deletions and lists of e's author. So the next reconciliation fetches them. ForgetOrphans forgets at most max, and
// reports in more whether there may be more, for another call.
func (m *memory) ForgetOrphans(e *nostr.Event, max int) (n int, more bool, err error) {
	if m.counters.Flagged == 0 {
		return 0, false, nil
	}
	refs := nip34.References(e)
	n, more, err = m.forgetRows(m.orphanRanges(e, refs), max)
	for _, id := range refs.IDs {
		if err != nil || more {
			break
		}
		n, more, err = m.forgetOrphan(id, n, max)
	}
	if err != nil {
		err = fmt.Errorf("forget orphans of %s: %w", e.ID, err)
	}
	return n, more, err
}

// orphanRanges are the index ranges of the orphans that were refused for want of e, but for those that e names by id.
func (m *memory) orphanRanges(e *nostr.Event, refs nip34.Refs) (ranges []flaggedRange) {
	buf := make([]byte, 0, layout.MaxPrefix)
	add := func(prefix []byte, at layout.Hash) {
		if p := layout.Flagged(prefix); !m.s.sketch.Lacks(p) {
			ranges = append(ranges, flaggedRange{bytes.Clone(p), isOrphan, at})
		}
	}
	for _, p := range index.NamingPrefixes(e.ID, e.Address()) {
		add(p, layout.Hash{})
	}
	for _, k := range authorKinds {
		add(layout.AppendAuthorKind(buf, e.PubKey, k), layout.Hash{})
	}
	for _, a := range refs.Addresses {
		if p := layout.Flagged(layout.AppendAuthorKind(buf, a.PubKey, a.Kind)); !m.s.sketch.Lacks(p) {
			ranges = append(ranges, flaggedRange{bytes.Clone(p), isOrphan, layout.HashOf(a.String())})
		}
	}
	return ranges
}

// flaggedRange is a range of a flagged index, and which of its rows count.
type flaggedRange struct {
	prefix []byte
	which  func(layout.FlaggedRow) bool
	at     layout.Hash // only what stands at this address; zero is everything
}

// authorKinds are accepted from every author who has an event here: the first event of an author makes those welcome that were refused.
var authorKinds = nip34.Kinds(nip34.Personal)

func isOrphan(r layout.FlaggedRow) bool { return r.Why.Orphan() }

// ForgetRepository forgets the announcements and states with that d that were refused or withdrawn, and the states that have waited in
// vain: an announcement or a maintainer of that d was accepted, or waits. ForgetRepository forgets at most max, and reports in more whether
// there may be more.
func (m *memory) ForgetRepository(d string, max int) (n int, more bool, err error) {
	refused := func(r layout.FlaggedRow) bool {
		return layout.ByRules(r.Why) && (r.Kind == nip34.KindRepository || r.Kind == nip34.KindState) || r.Why == policy.Lapsed && r.Kind == nip34.KindState
	}
	n, more, err = m.forgetRows([]flaggedRange{{prefix: layout.Flagged(layout.TagPrefix('d', layout.HashOf(d))), which: refused}}, max)
	if err != nil {
		err = fmt.Errorf("forget repository: %w", err)
	}
	return n, more, err
}

// ForgetLapsed forgets up to max announcements at an address that have waited in vain, so that the next reconciliation fetches them: a
// state of that repository has come.
func (m *memory) ForgetLapsed(of nip34.Address, max int) (n int, err error) {
	prefix := layout.Flagged(layout.AppendAuthorKind(make([]byte, 0, layout.MaxPrefix), of.PubKey, of.Kind))
	if m.counters.Flagged == 0 || m.s.sketch.Lacks(prefix) {
		return 0, nil
	}
	lapsed := func(r layout.FlaggedRow) bool { return r.Why == policy.Lapsed }
	n, _, err = m.forgetRows([]flaggedRange{{prefix, lapsed, layout.HashOf(of.String())}}, max)
	if err != nil {
		err = fmt.Errorf("forget what waited in vain at %s: %w", of, err)
	}
	return n, err
}

// forgetOrphan forgets the orphan with that id, if there is one and n is below max.
func (m *memory) forgetOrphan(id nostr.ID, n, max int) (int, bool, error) {
	r, ok, err := m.reader().Record(id)
	if err != nil || !ok || !isOrphan(r.Row()) {
		return n, false, err
	}
	if n == max {
		return n, true, nil
	}
	return n + 1, false, m.forget(id)
}

// forgetRows forgets the remembered events in these ranges.
func (m *memory) forgetRows(ranges []flaggedRange, max int) (n int, more bool, err error) {
	if len(ranges) == 0 {
		return 0, false, nil
	}
	it, err := m.w.NewIter(nil)
	if err != nil {
		return 0, false, err
	}
	defer index.CloseAfter(it.Close, &err)
	for _, g := range ranges {
		p := g.prefix
		for it.SeekGE(p); it.Valid() && bytes.HasPrefix(it.Key(), p); it.Next() {
			if n == max {
				return n, true, nil
			}
			ok, err := m.forgetRow(it, g)
			if err != nil {
				return n, false, err
			}
			if ok {
				n++
			}
		}
	}
	return n, false, it.Error()
}

func (m *memory) forgetRow(it *pebble.Iterator, g flaggedRange) (bool, error) {
	row, err := layout.ParseFlaggedRow(it.Value())
	if err != nil || !g.which(row) {
		return false, err
	}
	id, ok := layout.RowID(it.Key())
	if !ok {
		return false, fmt.Errorf("flagged row: %w", layout.ErrCorrupt)
	}
	rec, ok, err := m.reader().Record(id)
	if err != nil || !ok || g.at != (layout.Hash{}) && g.at != rec.Address {
		return false, err
	}
	return true, m.forget(id)
}
