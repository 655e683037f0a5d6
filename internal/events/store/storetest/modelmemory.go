package storetest

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func (b *modelBatch) note(e *nostr.Event, why policy.Outcome) {
	if why == policy.Unused && b.agedOf(e.PubKey) >= b.m.maxUnused() {
		why = policy.Refuse
	}
	byRules := why == policy.Refuse || why.Orphan() || why == policy.Withdraw
	other := why == policy.Superseded || why == policy.Deleted || why == policy.Expired || why == policy.Vanished || why == policy.Lapsed || why == policy.Unused
	kept := keptOf(e)
	if !byRules && !other || valuesOf(named(e)) > 64 && why.Orphan() {
		return
	}
	b.dropWait(e.ID, why)
	b.ops++
	n := int64(binary.BigEndian.Uint32(e.ID[28:]))
	r := memory{e: kept, why: why, due: b.m.now() + 7*24*3600 + n%(24*3600)}
	if why == policy.Lapsed {
		r.due = b.m.now() + 24*3600 + n%3600
	}
	if why == policy.Unused {
		r.due = b.m.now() + gate + n%(24*3600)
	}
	if byRules {
		r.epoch = b.epoch
	}
	if why == policy.Withdraw {
		r.due = math.MaxInt64
	}
	b.memory[e.ID] = r
	for b.surplus() {
		id, ok := b.oldest()
		if !ok {
			break
		}
		b.forget(id)
	}
}

// keptOf is an event with the tags that are remembered of it.
func keptOf(e *nostr.Event) *nostr.Event {
	kept := named(e)
	for n := len(kept.Tags); n > 0 && valuesOf(kept) > 64; n-- {
		kept.Tags = kept.Tags[:n-1]
	}
	return kept
}

// named is an event with nothing but what it names and its d.
func named(e *nostr.Event) *nostr.Event {
	kept := e.Clone()
	kept.Tags = slices.DeleteFunc(kept.Tags, func(t nostr.Tag) bool {
		return len(t) < 2 || !slices.Contains([]string{"a", "A", "q", "e", "E", "d"}, t[0])
	})
	return kept
}

func (b *modelBatch) surplus() bool {
	var rows int64
	for _, r := range b.memory {
		rows += rowsOf(r.e)
	}
	o := b.m.opt
	return o.MaxRemembered > 0 && int64(len(b.memory)) > o.MaxRemembered || o.MaxRememberedRows > 0 && rows > o.MaxRememberedRows
}

// oldest is the remembered event that is forgotten next.
func (b *modelBatch) oldest() (nostr.ID, bool) {
	var best nostr.ID
	found := false
	for id, r := range b.memory {
		if r.due != math.MaxInt64 && (!found || order(b.memory[best].due, r.due, id, best) < 0) {
			best, found = id, true
		}
	}
	return best, found
}

func (b *modelBatch) forget(id nostr.ID) {
	r := b.memory[id]
	b.ops++
	if v, ok := b.slots[r.e.Address()]; ok && r.why == policy.Expired && v.id == id && !v.live && !v.withdrawn {
		delete(b.slots, r.e.Address())
	}
	delete(b.memory, id)
}

// ForgetOrphans forgets what e was missing for.
func (b *modelBatch) ForgetOrphans(e *nostr.Event, max int) (int, bool, error) {
	return b.forgetIf(max, func(r memory) bool {
		return r.why.Orphan() && (names(r.e, e) || names(e, r.e) ||
			r.e.PubKey == e.PubKey && (r.e.Kind == 0 || r.e.Kind == 5 || r.e.Kind == 62 || r.e.Kind == 10317))
	})
}

// names reports whether a names b.
func names(a, b *nostr.Event) bool {
	refs := nip34.References(a)
	at, ok := nip34.AddressOf(b)
	return slices.Contains(refs.IDs, b.ID) || ok && slices.Contains(refs.Addresses, at)
}

// LostRepositories lists what leaving noted.
func (b *modelBatch) LostRepositories() []string {
	lost := b.lost
	b.lost = nil
	return lost
}

// ForgetRepository forgets refused announcements and states.
func (b *modelBatch) ForgetRepository(d string, max int) (int, bool, error) {
	return b.forgetIf(max, func(r memory) bool {
		return (r.epoch != 0 && (r.e.Kind == nip34.KindRepository || r.e.Kind == nip34.KindState) || r.why == policy.Lapsed && r.e.Kind == nip34.KindState) &&
			slices.ContainsFunc(r.e.Tags, func(t nostr.Tag) bool { return t[0] == "d" && t[1] == d })
	})
}

// ForgetLapsed forgets announcements that have waited in vain.
func (b *modelBatch) ForgetLapsed(of nip34.Address, max int) (int, error) {
	n, _, err := b.forgetIf(max, func(r memory) bool {
		at, ok := nip34.AddressOf(r.e)
		return r.why == policy.Lapsed && ok && at == of
	})
	return n, err
}

func (b *modelBatch) forgetIf(max int, which func(memory) bool) (n int, more bool, err error) {
	for id, r := range b.memory {
		if !which(r) {
			continue
		}
		if n == max {
			return n, true, nil
		}
		b.forget(id)
		n++
	}
	return n, false, nil
}

// ExpireDue removes what has expired.
func (b *modelBatch) ExpireDue(now time.Time, max int, skip func(nostr.ID) bool) (next time.Time, n int, err error) {
	var due []*nostr.Event
	for _, s := range b.events {
		if at, ok := s.e.Expiration(); ok && at != math.MaxInt64 {
			due = append(due, s.e)
		}
	}
	at := func(e *nostr.Event) int64 { v, _ := e.Expiration(); return v }
	slices.SortFunc(due, func(a, b *nostr.Event) int { return cmp.Or(cmp.Compare(at(a), at(b)), a.ID.Compare(b.ID)) })
	for _, e := range due {
		if at(e) > now.Unix() || n == max {
			return time.Unix(at(e), 0), n, nil
		}
		_ = b.Remove(e.ID, store.ReasonExpired)
		n++
	}
	return next, n, nil
}

// Known looks the id up.
func (b *modelBatch) Known(id nostr.ID) (store.Knowledge, error) { return b.knowledge(id), nil }

// SetRules begins another epoch, or only another name for this one.
func (b *modelBatch) SetRules(fingerprint string, forget bool) error {
	if fingerprint == b.rules {
		return nil
	}
	b.ops++
	b.rules = fingerprint
	if forget {
		b.epoch++
	}
	return nil
}

func (b *modelBatch) served() iter.Seq[stored] {
	return func(yield func(stored) bool) {
		for _, s := range b.events {
			if !expired(s.e, b.m.now()) && !yield(s) {
				return
			}
		}
	}
}

// Announcements lists by first acceptance.
func (b *modelBatch) Announcements(d string) ([]*nostr.Event, error) {
	var list []*nostr.Event
	for s := range b.served() {
		if s.e.Kind == nip34.KindRepository && s.e.Tags.D() == d {
			list = append(list, s.e)
		}
	}
	first := func(e *nostr.Event) store.Seq { return b.slots[e.Address()].first }
	slices.SortFunc(list, func(x, y *nostr.Event) int { return cmp.Compare(first(x), first(y)) })
	return list[:min(len(list), policy.MaxAnnouncements)], nil
}

// Has looks.
func (b *modelBatch) Has(id nostr.ID) (bool, error) {
	s, ok := b.events[id]
	return ok && !expired(s.e, b.m.now()), nil
}

// HasBy looks.
func (b *modelBatch) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	s, ok := b.events[id]
	return ok && !expired(s.e, b.m.now()) && s.e.PubKey == author, nil
}

// HasAddress looks.
func (b *modelBatch) HasAddress(address string) (bool, error) {
	v, ok := b.slots[address]
	if !ok || !v.live {
		return false, nil
	}
	return b.Has(v.id)
}

// Get looks.
func (b *modelBatch) Get(id nostr.ID) (*nostr.Event, bool, error) {
	return b.servedEvent(id, b.m.now())
}

// At looks.
func (b *modelBatch) At(address string) (*nostr.Event, bool, error) {
	return b.servedAt(address, b.m.now())
}

// Named looks at every tag.
func (b *modelBatch) Named(id nostr.ID, address string) (bool, error) {
	for s := range b.served() {
		for _, t := range s.e.Tags {
			v := t.Value()
			switch t.Name() {
			case "e", "E":
				if v == id.String() {
					return true, nil
				}
			case "a", "A":
				if address != "" && v == address {
					return true, nil
				}
			case "q":
				if v == id.String() || address != "" && v == address {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// TakesPart looks.
func (b *modelBatch) TakesPart(pk nostr.PubKey) (bool, error) {
	for s := range b.served() {
		if s.e.PubKey == pk && policy.Partakes(s.e.Kind) {
			return true, nil
		}
	}
	return false, nil
}

// HasAuthor looks.
func (b *modelBatch) HasAuthor(pk nostr.PubKey) (bool, error) {
	for s := range b.served() {
		if s.e.PubKey == pk {
			return true, nil
		}
	}
	return false, nil
}
