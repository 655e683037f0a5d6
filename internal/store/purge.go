package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/index"
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

func (b *Batch) setPurge(p layout.Purge) error { return b.set(p.Key(), p.Append(nil)) }

// Purging reports whether there is something for Purge to do.
func (v *View) Purging() (bool, error) {
	if _, ok, err := index.FirstPurge(v.st.snap); ok || err != nil {
		return ok, err
	}
	n, err := index.CountUnfinished(v.st.snap)
	return n > 0, err
}

// Purge goes on with deletions that name much, and then with removing the events of authors who have vanished, and reports whether there is
// more to do. It looks at or removes about max index rows, of which an event has about eight, and at least one event. Of an author who
// vanished (NIP-62) everything goes that was created up to the request, deletions and earlier requests too, and the gift wraps (kind 1059)
// of that time that are addressed to them; the newest request stays.
func (b *Batch) Purge(max int) (more bool, err error) {
	if max, err = b.finishDeletions(max); err != nil {
		return false, fmt.Errorf("purge: %w", err)
	}
	for max > 0 {
		p, ok, err := index.FirstPurge(b.w)
		if err == nil && ok {
			max, err = b.purgeAuthor(p, max)
		}
		if err != nil {
			return false, fmt.Errorf("purge: %w", err)
		}
		if !ok {
			return false, nil
		}
	}
	_, more, err = index.FirstPurge(b.w)
	return more || b.unfinished > 0, err
}

// purgeAuthor takes one author's removal as far as max rows go, and says what is left of them.
func (b *Batch) purgeAuthor(p layout.Purge, max int) (int, error) {
	b.ops++
	for int(p.Part) < len(purgeParts) {
		part := purgeParts[p.Part]
		if !part.vanished || p.Why == layout.ReasonVanished {
			left, done, err := b.purgePart(&p, part, max)
			if err != nil {
				return 0, err
			}
			if !done {
				return 0, b.setPurge(p)
			}
			max = left
		}
		p.Begin(p.Part+1, 0)
	}
	return max - 1, b.delete(p.Key())
}

// purgePart goes through one index range after the other, and reports whether it came to the end of the last.
func (b *Batch) purgePart(p *layout.Purge, part purgePart, max int) (left int, done bool, err error) {
	for {
		if max, done, err = b.purgeRange(p, part, max); err != nil || !done || part.next == nil {
			return max, done, err
		}
		k, ok, err := part.next(b, p)
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
func (b *Batch) purgeRange(p *layout.Purge, part purgePart, max int) (left int, done bool, err error) {
	prefix := part.prefix(p)
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
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
		cost, err := part.do(b, p, id, it.Value())
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
	do       func(b *Batch, p *layout.Purge, id nostr.ID, row []byte) (cost int, err error)
	next     func(b *Batch, p *layout.Purge) (nostr.Kind, bool, error)
}

// purgeParts are gone through in this order; their places in it are on disk.
var purgeParts = [layout.PurgeParts]purgePart{
	{false, (*layout.Purge).OwnPrefix, (*Batch).purgeOwn, (*Batch).nextKind},
	{true, (*layout.Purge).WithdrawnPrefix, (*Batch).purgeWithdrawn, nil},
	{true, (*layout.Purge).AddresseePrefix, (*Batch).purgeWrap, nil},
}

// nextKind is the next kind of which the author has something.
func (b *Batch) nextKind(p *layout.Purge) (_ nostr.Kind, ok bool, err error) {
	if p.Kind == layout.MaxKind {
		return 0, false, nil
	}
	own := layout.OwnPrefix(p.Author)
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: layout.AuthorKindPrefix(p.Author, p.Kind+1), UpperBound: layout.PrefixEnd(own)})
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

// purgeOwn removes an event of the author. Requests to vanish stay in force whatever else happens, so of these only
// one makes others go.
func (b *Batch) purgeOwn(p *layout.Purge, id nostr.ID, value []byte) (int, error) {
	at, err := layout.ParseRow(value)
	if err != nil {
		return 0, err
	}
	if at.Kind == nostr.KindVanish {
		req, _, err := b.reader().Vanished(p.Author)
		if err != nil || p.Why != layout.ReasonVanished || req.ID == id {
			return 1, err
		}
	}
	return b.purgeEvent(p, at)
}

// purgeWrap removes a gift wrap that is addressed to the author.
func (b *Batch) purgeWrap(p *layout.Purge, _ nostr.ID, value []byte) (int, error) {
	at, err := layout.ParseRow(value)
	if err != nil || at.Kind != nostr.KindGiftWrap || !at.Cases.Meets(layout.LowerCase) {
		return 1, err
	}
	return b.purgeEvent(p, at)
}

func (b *Batch) purgeEvent(p *layout.Purge, at layout.Row) (int, error) {
	e, err := b.reader().Event(at.Seq)
	if err != nil {
		return 0, err
	}
	return 4 + len(e.Tags), b.takeOut(e, at, p.Why)
}

func (b *Batch) purgeWithdrawn(_ *layout.Purge, id nostr.ID, value []byte) (int, error) {
	r, err := layout.ParseFlaggedRow(value)
	if err != nil || r.Why != policy.Withdraw {
		return 1, err
	}
	return 4, b.releaseWithdrawn(id)
}
