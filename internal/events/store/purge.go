package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func (v *vanishing) setPurge(p layout.Purge) error { return v.set(p.Key(), p.Append(nil)) }

// Purging reports whether there is something for Purge to do.
func (v *View) Purging() (bool, error) {
	if _, ok, err := index.FirstPurge(v.st.snap); ok || err != nil {
		return ok, err
	}
	n, err := index.CountUnfinished(v.st.snap)
	return n > 0, err
}

// Purge goes on with deletions that name much, and then removes events of authors who have vanished. Purge reports in more whether there is
// more to do. One call looks at or removes about max index rows, of which an event has about eight, and at least one event. Of an author
// who vanished (NIP-62) it removes everything that they created up to the request, deletions and earlier requests too, and the gift wraps
// (kind 1059) of that time that are addressed to them. The newest request stays.
func (v *vanishing) Purge(max int) (more bool, err error) {
	if max, err = v.deletions.finishDeletions(max); err != nil {
		return false, fmt.Errorf("purge: %w", err)
	}
	for max > 0 {
		p, ok, err := index.FirstPurge(v.w)
		if err == nil && ok {
			max, err = v.purgeAuthor(p, max)
		}
		if err != nil {
			return false, fmt.Errorf("purge: %w", err)
		}
		if !ok {
			return false, nil
		}
	}
	_, more, err = index.FirstPurge(v.w)
	return more || v.unfinished > 0, err
}

// purgeAuthor goes on with the removal of one author's events, for max rows, and returns how many of the max are left.
func (v *vanishing) purgeAuthor(p layout.Purge, max int) (int, error) {
	v.ops++
	for int(p.Part) < len(purgeParts) {
		part := purgeParts[p.Part]
		if !part.vanished || p.Why == layout.ReasonVanished {
			left, done, err := v.purgePart(&p, part, max)
			if err != nil {
				return 0, err
			}
			if !done {
				return 0, v.setPurge(p)
			}
			max = left
		}
		p.Begin(p.Part+1, 0)
	}
	return max - 1, v.delete(p.Key())
}

// purgePart goes through one index range after the other, and reports whether it came to the end of the last.
func (v *vanishing) purgePart(p *layout.Purge, part purgePart, max int) (left int, done bool, err error) {
	for {
		if max, done, err = v.purgeRange(p, part, max); err != nil || !done || part.next == nil {
			return max, done, err
		}
		k, ok, err := part.next(v, p)
		if err != nil || !ok {
			return max, err == nil, err
		}
		p.Begin(p.Part, k)
		if max--; max <= 0 {
			return 0, false, nil
		}
	}
}

// purgeRange goes through the rows of one index range, and reports whether it came to the end.
func (v *vanishing) purgeRange(p *layout.Purge, part purgePart, max int) (left int, done bool, err error) {
	prefix := part.prefix(p)
	it, err := v.w.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return 0, false, err
	}
	defer index.CloseAfter(it.Close, &err)
	for it.SeekGE(append(bytes.Clone(prefix), p.Next[:]...)); it.Valid(); it.Next() {
		id, ok := layout.RowID(it.Key())
		if !ok || len(it.Key()) != len(prefix)+layout.OrderLen {
			return 0, false, fmt.Errorf("index %q: %w", prefix[:1], layout.ErrCorrupt)
		}
		if max <= 0 {
			copy(p.Next[:], it.Key()[len(prefix):])
			return 0, false, nil
		}
		cost, err := part.do(v, p, id, it.Value())
		if err != nil {
			return 0, false, err
		}
		max -= cost
	}
	return max, true, it.Error()
}

// purgePart is one index range that a purge goes through, or one for each kind that next finds.
type purgePart struct {
	vanished bool // only where the author vanished
	prefix   func(*layout.Purge) []byte
	do       func(v *vanishing, p *layout.Purge, id nostr.ID, row []byte) (cost int, err error)
	next     func(v *vanishing, p *layout.Purge) (nostr.Kind, bool, error)
}

// purgeParts are purged in this order. Their indexes in it are on disk.
var purgeParts = [layout.PurgeParts]purgePart{
	{false, (*layout.Purge).OwnPrefix, (*vanishing).purgeOwn, (*vanishing).nextKind},
	{true, (*layout.Purge).WithdrawnPrefix, (*vanishing).purgeWithdrawn, nil},
	{true, (*layout.Purge).AddresseePrefix, (*vanishing).purgeWrap, nil},
}

// nextKind finds the next kind of which the author has an event.
func (v *vanishing) nextKind(p *layout.Purge) (_ nostr.Kind, ok bool, err error) {
	if p.Kind == layout.MaxKind {
		return 0, false, nil
	}
	own := layout.OwnPrefix(p.Author)
	it, err := v.w.NewIter(&pebble.IterOptions{LowerBound: layout.AuthorKindPrefix(p.Author, p.Kind+1), UpperBound: layout.PrefixEnd(own)})
	if err != nil {
		return 0, false, err
	}
	defer index.CloseAfter(it.Close, &err)
	if !it.First() {
		return 0, false, it.Error()
	}
	if len(it.Key()) < len(own)+2 {
		return 0, false, fmt.Errorf("index %q: %w", own[:1], layout.ErrCorrupt)
	}
	return nostr.Kind(binary.BigEndian.Uint16(it.Key()[len(own):])), true, nil
}

// purgeOwn removes an event of the author. A request to vanish goes only for another request, as it stays in force
// whatever else happens.
func (v *vanishing) purgeOwn(p *layout.Purge, id nostr.ID, value []byte) (int, error) {
	at, err := layout.ParseRow(value)
	if err != nil {
		return 0, err
	}
	if at.Kind == nostr.KindVanish {
		req, _, err := v.reader().Vanished(p.Author)
		if err != nil || p.Why != layout.ReasonVanished || req.ID == id {
			return 1, err
		}
	}
	return v.purgeEvent(p, at)
}

// purgeWrap removes a gift wrap that is addressed to the author.
func (v *vanishing) purgeWrap(p *layout.Purge, _ nostr.ID, value []byte) (int, error) {
	at, err := layout.ParseRow(value)
	if err != nil || at.Kind != nostr.KindGiftWrap || !at.Cases.Meets(layout.LowerCase) {
		return 1, err
	}
	return v.purgeEvent(p, at)
}

func (v *vanishing) purgeEvent(p *layout.Purge, at layout.Row) (int, error) {
	e, err := v.reader().Event(at.Seq)
	if err != nil {
		return 0, err
	}
	return 4 + len(e.Tags), v.stored.takeOut(e, at, p.Why)
}

func (v *vanishing) purgeWithdrawn(_ *layout.Purge, id nostr.ID, value []byte) (int, error) {
	r, err := layout.ParseFlaggedRow(value)
	if err != nil || r.Why != policy.Withdraw {
		return 1, err
	}
	return 4, v.releaseWithdrawn(id)
}
