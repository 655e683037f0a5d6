package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// purge is the removal of an author's events, as far as it has come. It is on disk, so that a restart goes on with it.
type purge struct {
	why    Reason
	author nostr.PubKey
	until  int64      // what was created later stays
	part   byte       // of purgeParts: which one is under way
	kind   nostr.Kind // where it goes on: the kind, in the part that goes from kind to kind, and the place
	next   [orderLen]byte
}

// purgeRanges is how many parts a purge has.
const purgeRanges = 3

func newPurge(why Reason, author nostr.PubKey, until int64) purge {
	return purge{why: why, author: author, until: until, next: orderOf(until, nostr.ID{})}
}

// begin goes on with a part, or with a kind of one, at what was created last.
func (p *purge) begin(part byte, k nostr.Kind) {
	p.part, p.kind, p.next = part, k, orderOf(p.until, nostr.ID{})
}

func (p purge) key() []byte {
	return append([]byte{tablePurge, byte(p.why)}, p.author[:]...)
}

func (p purge) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.until))
	dst = binary.BigEndian.AppendUint16(append(dst, p.part), uint16(p.kind))
	return append(dst, p.next[:]...)
}

func parsePurge(key, b []byte) (purge, error) {
	if len(key) != 2+32 || len(b) != 8+1+2+orderLen || b[8] >= purgeRanges {
		return purge{}, fmt.Errorf("purge: %w", errCorrupt)
	}
	return purge{
		Reason(key[1]), nostr.PubKey(key[2:]), int64(binary.BigEndian.Uint64(b)), b[8],
		nostr.Kind(binary.BigEndian.Uint16(b[9:])), [orderLen]byte(b[11:]),
	}, nil
}

func (b *Batch) setPurge(p purge) error { return b.set(p.key(), p.append(nil)) }

// Purging reports whether there is something for Purge to do.
func (v *View) Purging() (bool, error) {
	if _, ok, err := firstPurge(v.st.snap); ok || err != nil {
		return ok, err
	}
	n, err := countUnfinished(v.st.snap)
	return n > 0, err
}

// purge is the removal of that author's events for that reason, if it is under way.
func (r reader) purge(why Reason, author nostr.PubKey) (purge, bool, error) {
	key := newPurge(why, author, 0).key()
	v, ok, err := get(r.r, key)
	if err != nil || !ok {
		return purge{}, false, err
	}
	p, err := parsePurge(key, v)
	return p, err == nil, err
}

// firstPurge is the one that is under way.
func firstPurge(r pebble.Reader) (p purge, ok bool, err error) {
	it, err := tableIter(r, tablePurge)
	if err != nil {
		return p, false, err
	}
	defer closeAfter(it.Close, &err)
	if !it.First() {
		return p, false, it.Error()
	}
	p, err = parsePurge(it.Key(), it.Value())
	return p, err == nil, err
}

// Purge goes on with deletions that name much, and then with removing the events of authors who have vanished, and reports whether
// there is more to do. It
// looks at or removes about max index rows, of which an event has about eight, and at least one event. Of an author who
// vanished (NIP-62) everything goes that was created up to the request, deletions and earlier requests too, and
// the gift wraps (kind 1059) of that time that are addressed to him; the newest request stays.
func (b *Batch) Purge(max int) (more bool, err error) {
	if max, err = b.finishDeletions(max); err != nil {
		return false, fmt.Errorf("purge: %w", err)
	}
	for max > 0 {
		p, ok, err := firstPurge(b.w)
		if err == nil && ok {
			max, err = b.purge(p, max)
		}
		if err != nil {
			return false, fmt.Errorf("purge: %w", err)
		}
		if !ok {
			return false, nil
		}
	}
	_, more, err = firstPurge(b.w)
	return more || b.unfinished > 0, err
}

// purge takes one author's removal as far as max rows go, and says what is left of them.
func (b *Batch) purge(p purge, max int) (int, error) {
	b.ops++
	for int(p.part) < len(purgeParts) {
		part := purgeParts[p.part]
		if !part.vanished || p.why == ReasonVanished {
			left, done, err := b.purgePart(&p, part, max)
			if err != nil {
				return 0, err
			}
			if !done {
				return 0, b.setPurge(p)
			}
			max = left
		}
		p.begin(p.part+1, 0)
	}
	return max - 1, b.delete(p.key())
}

// purgePart goes through one index range after the other, and reports whether it came to the end of the last.
func (b *Batch) purgePart(p *purge, part purgePart, max int) (left int, done bool, err error) {
	for {
		if max, done, err = b.purgeRange(p, part, max); err != nil || !done || part.next == nil {
			return max, done, err
		}
		k, ok, err := part.next(b, p)
		if err != nil || !ok {
			return max, err == nil, err
		}
		p.begin(p.part, k)
		if max--; max <= 0 {
			return 0, false, nil
		}
	}
}

// purgeRange goes through the rows of one index range, and reports whether it came to the end.
func (b *Batch) purgeRange(p *purge, part purgePart, max int) (left int, done bool, err error) {
	prefix := part.prefix(p)
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return 0, false, err
	}
	defer closeAfter(it.Close, &err)
	for it.SeekGE(append(bytes.Clone(prefix), p.next[:]...)); it.Valid(); it.Next() {
		id, ok := rowID(it.Key())
		if !ok || len(it.Key()) != len(prefix)+orderLen {
			return 0, false, fmt.Errorf("index %q: %w", prefix[:1], errCorrupt)
		}
		if max <= 0 {
			copy(p.next[:], it.Key()[len(prefix):])
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
	prefix   func(*purge) []byte
	do       func(b *Batch, p *purge, id nostr.ID, row []byte) (cost int, err error)
	next     func(b *Batch, p *purge) (nostr.Kind, bool, error)
}

// purgeParts are gone through in this order; their places in it are on disk.
var purgeParts = [purgeRanges]purgePart{
	{false, (*purge).ownPrefix, (*Batch).purgeOwn, (*Batch).nextKind},
	{true, (*purge).withdrawnPrefix, (*Batch).purgeWithdrawn, nil},
	{true, (*purge).addresseePrefix, (*Batch).purgeWrap, nil},
}

func (p *purge) ownPrefix() []byte { return authorKindPrefix(p.author, p.kind) }

func (p *purge) withdrawnPrefix() []byte {
	return flagged(authorKindPrefix(p.author, nip34.KindRepository))
}

func (p *purge) addresseePrefix() []byte { return tagPrefix('p', hashOf(p.author.String())) }

// nextKind is the next kind of which the author has something.
func (b *Batch) nextKind(p *purge) (_ nostr.Kind, ok bool, err error) {
	if p.kind == maxKind {
		return 0, false, nil
	}
	own := ownPrefix(p.author)
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: authorKindPrefix(p.author, p.kind+1), UpperBound: prefixEnd(own)})
	if err != nil {
		return 0, false, err
	}
	defer closeAfter(it.Close, &err)
	if !it.First() {
		return 0, false, it.Error()
	}
	if len(it.Key()) < len(own)+2 {
		return 0, false, fmt.Errorf("index %q: %w", own[:1], errCorrupt)
	}
	return nostr.Kind(binary.BigEndian.Uint16(it.Key()[len(own):])), true, nil
}

// purgeOwn removes an event of the author. Requests to vanish stay in force whatever else happens, so of these only
// one makes others go.
func (b *Batch) purgeOwn(p *purge, id nostr.ID, value []byte) (int, error) {
	at, err := parseRow(value)
	if err != nil {
		return 0, err
	}
	if at.kind == nostr.KindVanish {
		req, _, err := b.reader().vanished(p.author)
		if err != nil || p.why != ReasonVanished || req.id == id {
			return 1, err
		}
	}
	return b.purgeEvent(p, at)
}

// purgeWrap removes a gift wrap that is addressed to the author.
func (b *Batch) purgeWrap(p *purge, _ nostr.ID, value []byte) (int, error) {
	at, err := parseRow(value)
	if err != nil || at.kind != nostr.KindGiftWrap || !at.cases.meets(lowerCase) {
		return 1, err
	}
	return b.purgeEvent(p, at)
}

func (b *Batch) purgeEvent(p *purge, at row) (int, error) {
	e, err := b.reader().event(at.seq)
	if err != nil {
		return 0, err
	}
	return 4 + len(e.Tags), b.remove(e, at, p.why)
}

func (b *Batch) purgeWithdrawn(_ *purge, id nostr.ID, value []byte) (int, error) {
	r, err := parseFlaggedRow(value)
	if err != nil || r.why != policy.Withdraw {
		return 1, err
	}
	return 4, b.releaseWithdrawn(id)
}
