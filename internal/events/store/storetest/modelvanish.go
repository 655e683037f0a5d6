package storetest

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// isVanished looks at the requests of the author and of those that a gift wrap is for.
func (d *data) isVanished(e *nostr.Event) bool {
	if r, ok := d.vanished[e.PubKey]; ok && e.CreatedAt <= r.until && e.ID != r.id {
		return true
	}
	return e.Kind == nostr.KindGiftWrap && slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool {
		p, err := nostr.ParsePubKey(t.Value())
		r, ok := d.vanished[p]
		return t.Name() == "p" && err == nil && ok && e.CreatedAt <= r.until
	})
}

// Purge removes one author after the other, all at once.
func (b *modelBatch) Purge(int) (bool, error) {
	b.finishDeletions()
	var authors []nostr.PubKey
	for pk := range b.purges {
		authors = append(authors, pk)
	}
	slices.SortFunc(authors, nostr.PubKey.Compare)
	for _, pk := range authors {
		b.ops++
		b.purgeOne(pk, b.purges[pk])
		delete(b.purges, pk)
	}
	return false, nil
}

func (b *modelBatch) purgeOne(pk nostr.PubKey, until int64) {
	b.removeAll(func(e *nostr.Event) bool {
		return e.PubKey == pk && e.CreatedAt <= until && e.ID != b.vanished[pk].id
	})
	var withdrawn []*nostr.Event
	for _, r := range b.memory {
		if r.e.PubKey == pk && r.e.Kind == nip34.KindRepository && r.why == policy.Withdraw && r.e.CreatedAt <= until {
			withdrawn = append(withdrawn, r.e)
		}
	}
	slices.SortFunc(withdrawn, newestFirst)
	for _, e := range withdrawn {
		if b.slots[e.Address()].id == e.ID {
			delete(b.slots, e.Address())
		}
		b.note(e, policy.Vanished)
	}
	b.removeAll(func(e *nostr.Event) bool {
		return e.Kind == nostr.KindGiftWrap && e.CreatedAt <= until &&
			slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool { return t.Name() == "p" && t.Value() == pk.String() })
	})
}

// removeAll removes kind by kind, of each the newest first.
func (b *modelBatch) removeAll(which func(*nostr.Event) bool) {
	var list []*nostr.Event
	for _, s := range b.events {
		if which(s.e) {
			list = append(list, s.e)
		}
	}
	slices.SortFunc(list, func(x, y *nostr.Event) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), newestFirst(x, y)) })
	for _, e := range list {
		_ = b.Remove(e.ID, store.ReasonVanished)
	}
}

func newestFirst(x, y *nostr.Event) int { return order(x.CreatedAt, y.CreatedAt, x.ID, y.ID) }

// undelete takes back the marks of a deletion whose author vanished.
func (b *modelBatch) undelete(del *nostr.Event) {
	r, ok := b.vanished[del.PubKey]
	if !ok {
		return
	}
	for _, t := range del.Tags {
		id, idErr := nostr.ParseID(t.Value())
		a, aErr := nip34.ParseAddress(t.Value())
		m := mark{id, del.PubKey}
		switch {
		case t.Name() == "e" && idErr == nil:
			if f, ok := b.deletedIDs[m]; ok && f.time <= r.until {
				delete(b.deletedIDs, m)
				b.marks[del.PubKey]--
				if rec, ok := b.memory[id]; ok && rec.e.PubKey == del.PubKey {
					b.vacate(rec.e.Address(), r.until)
				}
			}
		case t.Name() == "a" && aErr == nil && a.PubKey == del.PubKey:
			if f, ok := b.deletedAddresses[a.String()]; ok && f.time <= r.until {
				delete(b.deletedAddresses, a.String())
				b.marks[del.PubKey]--
				b.vacate(a.String(), r.until)
			}
		}
	}
}

func (b *modelBatch) vacate(address string, until int64) {
	if v, ok := b.slots[address]; ok && !v.live && !v.withdrawn && v.time <= until {
		delete(b.slots, address)
	}
}

// Purging reports whether there are requests to act on.
func (v *modelView) Purging() (bool, error) { return len(v.d.purges)+len(v.d.unfinished) > 0, nil }
