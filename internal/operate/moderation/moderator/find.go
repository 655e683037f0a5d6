package moderator

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// mostPreviewed bounds how many events a preview looks at.
const mostPreviewed = 1_000_000

// deniedBy reports whether lists deny a subject.
func deniedBy(l policy.Lists, s moderation.Subject) (ok bool) {
	switch s.Sort {
	case moderation.Author:
		_, ok = l.DenyPubKeys[s.PubKey]
	case moderation.Repository:
		_, ok = l.DenyRepositories.Addresses[s.Address()]
	case moderation.Owner:
		_, ok = l.DenyRepositories.Owners[s.PubKey]
	case moderation.Event:
		_, ok = l.DenyEvents[s.ID]
	}
	return ok
}

// roots returns the events of a subject itself, and of a repository also those that name it.
func roots(ctx context.Context, v *store.View, s moderation.Subject) ([]nostr.ID, error) {
	f := nostr.Filter{Authors: []nostr.PubKey{s.PubKey}}
	switch s.Sort {
	case moderation.Event:
		return []nostr.ID{s.ID}, nil
	case moderation.Repository:
		state := s.Address()
		state.Kind = nip34.KindState
		return about(ctx, v, nil, []string{s.Address().String(), state.String()})
	case moderation.Owner:
		f.Kinds = nip34.Kinds(nip34.Hosted)
	}
	var ids []nostr.ID
	for p, err := range v.Pairs(ctx, f, false) {
		if err != nil {
			return nil, fmt.Errorf("events of %s: %w", s, err)
		}
		ids = append(ids, p.ID)
	}
	return ids, nil
}

// about returns the events that name one of the ids or addresses, or stand at one of the addresses.
func about(ctx context.Context, v *store.View, ids []nostr.ID, addresses []string) (out []nostr.ID, err error) {
	if len(ids)+len(addresses) == 0 {
		return nil, nil
	}
	for row, err := range v.About(ctx, ids, addresses) {
		if err != nil {
			return nil, err
		}
		out = append(out, row.ID)
	}
	return out, nil
}

// following returns the events that name one of those that have gone.
func following(ctx context.Context, v *store.View, gone []*nostr.Event) ([]nostr.ID, error) {
	var ids []nostr.ID
	var addresses []string
	for _, e := range gone {
		ids = append(ids, e.ID)
		if a := e.Address(); a != "" {
			addresses = append(addresses, a)
		}
	}
	return about(ctx, v, ids, addresses)
}

// anything reports whether something of a subject is here, which would go with it.
func anything(ctx context.Context, v *store.View, s moderation.Subject) (bool, error) {
	if s.Sort == moderation.Event {
		_, ok, err := v.Get(s.ID)
		return ok, err
	}
	ids, err := roots(ctx, v, s)
	for _, id := range ids {
		e, ok, err := v.Get(id)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		if goes, err := moderation.GoesAlong(s, e, remaining{v: v}); goes || err != nil {
			return goes, err
		}
	}
	return false, err
}

// remaining is a view without the events that have gone.
type remaining struct {
	v         *store.View
	gone      map[nostr.ID]bool
	addresses map[string]bool
}

func (r remaining) Has(id nostr.ID) (bool, error) {
	k, err := r.v.Known(id)
	return k.State == store.Stored && !r.gone[id], err
}

func (r remaining) HasAddress(a string) (bool, error) {
	if r.addresses[a] {
		return false, nil
	}
	return r.v.HasAddress(a)
}

// Title returns what people call a subject, as one short line of their words: the name of an author or a repository, or the kind and the
// subject of an event; "" where nothing that is here says it.
func (m *Moderator) Title(s moderation.Subject) string {
	v := m.cfg.Store.View()
	defer v.Close()
	var e *nostr.Event
	var ok bool
	var err error
	switch s.Sort {
	case moderation.Event:
		e, ok, err = v.Get(s.ID)
	case moderation.Repository:
		e, ok, err = v.At(s.Address().String())
	default:
		e, ok, err = v.At(nip34.Address{Kind: nostr.KindMetadata, PubKey: s.PubKey}.String())
	}
	switch {
	case err != nil || !ok:
		return "" // it is only a help
	case s.Sort == moderation.Event:
		return strings.TrimSpace(nip34.NameOf(e.Kind) + " " + nip34.Title(e))
	}
	return nip34.Title(e)
}

// Repositories returns the repositories that an event is about: those that it names, or that what it answers names.
func (m *Moderator) Repositories(id nostr.ID) []nip34.Address {
	v := m.cfg.Store.View()
	defer v.Close()
	for range 3 { // a comment, what it answers, the thread
		e, ok, err := v.Get(id)
		if err != nil || !ok {
			return nil
		}
		if a, ok := nip34.AddressOf(e); ok && nip34.Is(e.Kind, nip34.Hosted) {
			return []nip34.Address{{Kind: nip34.KindRepository, PubKey: a.PubKey, D: a.D}}
		}
		refs := nip34.References(e)
		named := slices.DeleteFunc(refs.Addresses, func(a nip34.Address) bool { return a.Kind != nip34.KindRepository })
		if len(named) > 0 || len(refs.IDs) == 0 {
			return named
		}
		id = refs.IDs[0]
	}
	return nil
}

// Preview says what would go with a subject. Nothing changes.
func (m *Moderator) Preview(ctx context.Context, s moderation.Subject) (moderation.Preview, error) {
	v := m.cfg.Store.View()
	defer v.Close()
	out := moderation.Preview{Subject: s, Title: m.Title(s), Repositories: []string{}}
	var c moderation.Case
	left := remaining{v, map[nostr.ID]bool{}, map[string]bool{}}
	queue, err := roots(ctx, v, s)
	for looked := 0; len(queue) > 0 && err == nil; looked++ {
		if out.More = looked == mostPreviewed; out.More {
			break
		}
		var e *nostr.Event
		if e, err = going(s, v, left, queue[0]); e != nil {
			left.gone[e.ID] = true
			if a := e.Address(); a != "" {
				left.addresses[a] = true
			}
			c.Count(e, 1)
			var more []nostr.ID
			more, err = following(ctx, v, []*nostr.Event{e})
			queue = append(queue, more...)
		}
		queue = queue[1:]
	}
	if x, ok := m.of(s); ok {
		out.Case = x.N
	}
	if err != nil {
		return out, fmt.Errorf("what goes with %s: %w", s, err)
	}
	out.Events, out.Bytes, out.Repositories = c.Events, c.Bytes, append(out.Repositories, c.Repositories...)
	slices.Sort(out.Repositories)
	if out.GitBytes, err = gitBytes(v, out.Repositories); err != nil || s.Sort != moderation.Repository {
		return out, err
	}
	r, err := refdb.Read(v, s.Address())
	if !r.Dir.IsZero() {
		out.GitDir = hex.EncodeToString(r.Dir[:])
	}
	return out, err
}

// going returns the event with that id if it goes with a subject; else nil.
func going(s moderation.Subject, v *store.View, left remaining, id nostr.ID) (*nostr.Event, error) {
	if left.gone[id] {
		return nil, nil
	}
	e, ok, err := v.Get(id)
	if err != nil || !ok {
		return nil, err
	}
	if goes, err := moderation.GoesAlong(s, e, left); !goes || err != nil {
		return nil, err
	}
	return e, nil
}

// gitBytes returns about how many bytes the git data of some repositories takes.
func gitBytes(v *store.View, addresses []string) (n int64, err error) {
	for _, text := range addresses {
		a, err := nip34.ParseAddress(text)
		if err != nil {
			continue // an older version stored such announcements; they have no git data
		}
		r, err := refdb.Read(v, a)
		if err != nil {
			return n, err
		}
		n += r.Bytes
	}
	return n, nil
}
