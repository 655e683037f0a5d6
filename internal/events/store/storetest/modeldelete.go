package storetest

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// delete does what most of the tags name, and keeps the rest for later.
func (b *modelBatch) delete(del stored, tags nostr.Tags, most int) (used bool) {
	for i, t := range tags {
		if most == 0 {
			b.unfinished = append(b.unfinished, left{del, tags[i:]})
			slices.SortFunc(b.unfinished, func(x, y left) int {
				return cmp.Or(x.del.e.PubKey.Compare(y.del.e.PubKey), cmp.Compare(x.del.seq, y.del.seq))
			})
			return used
		}
		if t.Name() == "e" || t.Name() == "a" {
			most--
			used = b.deleteNamed(del.e, t) || used
		}
	}
	return used
}

func (b *modelBatch) deleteNamed(del *nostr.Event, t nostr.Tag) (used bool) {
	id, idErr := nostr.ParseID(t.Value())
	a, aErr := nip34.ParseAddress(t.Value())
	switch {
	case t.Name() == "e" && idErr == nil:
		m := mark{id, del.PubKey}
		s, ok := b.events[id]
		here := ok && s.e.PubKey == del.PubKey && s.e.Kind != nostr.KindDeletion && s.e.Kind != nostr.KindVanish
		w, waits := b.waits[id]
		waits = waits && w.Event.PubKey == del.PubKey && w.Event.Kind != nostr.KindDeletion && w.Event.Kind != nostr.KindVanish
		used = here || waits
		if f, ok := b.deletedIDs[m]; ok || b.mayMark(del.PubKey, used) {
			b.deletedIDs[m] = b.newer(f, del, used)
		}
		if waits {
			b.note(w.Event, policy.Deleted)
		}
		if here {
			_ = b.Remove(id, store.ReasonDeleted)
		}
	case t.Name() == "a" && aErr == nil && a.PubKey == del.PubKey:
		key := a.String()
		f, ok := b.deletedAddresses[key]
		if b.stands(f) && f.time >= del.CreatedAt {
			return false
		}
		v := b.slots[key]
		here := v.live && v.time <= del.CreatedAt
		w, waits := b.waitAt(key)
		waits = waits && w.Event.CreatedAt <= del.CreatedAt
		used = here || waits
		if ok || b.mayMark(del.PubKey, used) {
			f = b.newer(f, del, used)
			f.author = del.PubKey
			b.deletedAddresses[key] = f
		}
		if waits {
			b.note(w.Event, policy.Deleted)
		}
		if here {
			_ = b.Remove(v.id, store.ReasonDeleted)
		}
	}
	return used
}

// mayMark counts another mark, unless there are too many and it is for nothing that is here.
func (b *modelBatch) mayMark(author nostr.PubKey, here bool) bool {
	if !here && b.marks[author] >= cmp.Or(b.m.opt.MaxMarks, 20_000) {
		return false
	}
	b.marks[author]++
	return true
}

// isBeingDeleted looks at everything that unfinished deletions name.
func (d *data) isBeingDeleted(e *nostr.Event) bool {
	return slices.ContainsFunc(d.unfinished, func(l left) bool {
		del := l.del.e
		return del.PubKey == e.PubKey && slices.ContainsFunc(del.Tags, func(t nostr.Tag) bool {
			a, err := nip34.ParseAddress(t.Value())
			return t.Name() == "e" && t.Value() == e.ID.String() ||
				t.Name() == "a" && err == nil && a.String() == e.Address() && e.CreatedAt <= del.CreatedAt
		})
	})
}

// finishDeletions does what is left.
func (b *modelBatch) finishDeletions() {
	for len(b.unfinished) > 0 {
		b.ops++
		l := b.unfinished[0]
		b.unfinished = b.unfinished[1:]
		b.delete(l.del, l.tags, len(l.tags)+1)
	}
}
