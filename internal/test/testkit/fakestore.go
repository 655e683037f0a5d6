package testkit

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// keep stores an event, unless the relay is Honest and the event is deleted, replaced or there. It reports whether it did. The caller holds mu.
func (f *FakeRelay) keep(e *nostr.Event) bool {
	if !f.Honest {
		f.events = append(f.events, e)
		return true
	}
	for _, x := range f.events {
		if x.ID == e.ID || deletes(x, e) || replaces(x, e) {
			return false
		}
	}
	f.events = slices.DeleteFunc(f.events, func(x *nostr.Event) bool { return replaces(e, x) || deletes(e, x) })
	f.events = append(f.events, e)
	return true
}

// replaces reports whether a takes the place of b (NIP-01).
func replaces(a, b *nostr.Event) bool {
	return a.Address() != "" && a.Address() == b.Address() && a.Stamp().Newer(b.Stamp())
}

// deletes reports whether d is a deletion that takes e away (NIP-09).
func deletes(d, e *nostr.Event) bool {
	if d.Kind != nostr.KindDeletion || d.PubKey != e.PubKey || e.Kind == nostr.KindDeletion {
		return false
	}
	for _, t := range d.Tags {
		if len(t) > 1 && (t[0] == "e" && t[1] == e.ID.String() || t[0] == "a" && t[1] == e.Address() && e.CreatedAt <= d.CreatedAt) {
			return true
		}
	}
	return false
}

// Events returns the events that the relay would send.
func (f *FakeRelay) Events() []*nostr.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.events), func(e *nostr.Event) bool { return f.withheld(e.ID) || f.tooLarge(e.ID) })
}

// match returns the answer to a filter from the stored events, capped and ordered by the relay's habits.
func (c *fakeConn) match(fl nostr.Filter) []*nostr.Event {
	f := c.relay
	if f.Inside {
		fl = inside(fl)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*nostr.Event
	for _, e := range f.events {
		if f.answers(fl, e) && !f.withheld(e.ID) {
			out = append(out, e)
		}
	}
	if !f.First {
		slices.SortFunc(out, newestFirst)
	}
	if f.Oldest || f.Moody && c.rng.IntN(2) == 0 {
		slices.Reverse(out)
	}
	if f.Any {
		c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	out = out[:min(len(out), f.page(fl.Limit))]
	if f.Sifted && fl.IDs == nil && len(out) == f.PageCap {
		out = out[:len(out)-c.rng.IntN(min(6, len(out)))]
	}
	if fl.IDs != nil && f.Given > 0 {
		out = out[:min(len(out), f.Given)]
	}
	if f.Moody {
		c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// inside returns a filter with since and until as they are for a relay that takes them for exclusive.
func inside(fl nostr.Filter) nostr.Filter {
	if fl.Since != nil {
		fl.Since = new(*fl.Since + 1)
	}
	if fl.Until != nil {
		fl.Until = new(*fl.Until - 1)
	}
	return fl
}

func newestFirst(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
}

// page returns how many events the relay gives to a filter with that limit.
func (f *FakeRelay) page(limit *int) int {
	asked := 1 << 30
	if limit != nil {
		asked = *limit
	}
	switch {
	case f.PageCap == 0 || asked <= f.PageCap:
		return asked
	case f.Quarter:
		return max(1, f.PageCap/4)
	}
	return f.PageCap
}

// answers reports whether the relay takes a stored event for an answer to a filter.
func (f *FakeRelay) answers(fl nostr.Filter, e *nostr.Event) bool {
	if !f.Loose {
		return fl.Matches(e)
	}
	for _, t := range fl.Tags {
		exact, begins := false, false
		for _, tag := range e.Tags {
			for _, v := range t.Values {
				exact = exact || len(tag) > 1 && tag[1] == v
				begins = begins || len(tag) > 1 && strings.HasPrefix(tag[1], v)
			}
		}
		if !begins {
			return false
		}
		if !exact {
			fl.Since, fl.Until = nil, nil
		}
	}
	fl.Tags = nil
	return fl.Matches(e)
}

// set returns the set that the relay reconciles for a filter, and how many events match.
func (c *fakeConn) set(fl nostr.Filter) (*negentropy.Set, int) {
	f := c.relay
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*nostr.Event
	for _, e := range f.events {
		if f.answers(fl, e) {
			found = append(found, e)
		}
	}
	n := len(found)
	if f.NegNewest > 0 {
		slices.SortFunc(found, newestFirst)
		most := f.NegNewest
		if f.NegVaries {
			most = c.rng.IntN(most + 1)
		}
		found = found[:min(n, most)]
	}
	var items []negentropy.Item
	for _, e := range found {
		items = append(items, negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID})
	}
	if f.Neg == NegEndless {
		items = append(items, invented(fl, 20_000)...)
	}
	return negentropy.NewSet(items), n
}

// invented makes ids of events that do not exist, within the times of a filter.
func invented(fl nostr.Filter, n int) []negentropy.Item {
	until := int64(1_750_000_000)
	if fl.Until != nil {
		until = min(until, *fl.Until)
	}
	var items []negentropy.Item
	for i := range int64(n) {
		if at := until - i*600; fl.Since == nil || at >= *fl.Since {
			items = append(items, negentropy.Item{Time: uint64(at), ID: sha256.Sum256(fmt.Append(nil, fl.Key(), i))})
		}
	}
	return items
}
