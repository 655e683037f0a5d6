package moderation

import (
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Here tells what is stored and served, without what has gone with a subject so far.
type Here interface {
	Has(id nostr.ID) (bool, error)
	HasAddress(address string) (bool, error)
}

// Owns reports whether the subject bars an event itself, whatever the event names. A request to vanish is its author's right and stays.
func (s Subject) Owns(e *nostr.Event) bool {
	switch s.Sort {
	case Author:
		return e.PubKey == s.PubKey && e.Kind != nostr.KindVanish
	case Repository, Owner:
		return (e.Kind == nip34.KindRepository || e.Kind == nip34.KindState) && e.PubKey == s.PubKey &&
			(s.Sort == Owner || e.Tags.D() == s.D)
	}
	return e.ID == s.ID
}

// Covers reports whether all data of the repository at an address belongs to the subject.
func (s Subject) Covers(a nip34.Address) bool {
	if a.Kind != nip34.KindRepository && a.Kind != nip34.KindState || a.PubKey != s.PubKey {
		return false
	}
	return s.Sort == Author || s.Sort == Owner || s.Sort == Repository && a.D == s.D
}

// GoesAlong reports whether an event that names something which has gone goes, too. It goes where nothing else that it names is here, as the
// relay would not take it then. An event that stands for itself (an announcement, a state, a deletion, a request to vanish, a list or a
// profile) goes only where the subject owns it. Callers ask again about an event that stays when more has gone.
func GoesAlong(s Subject, e *nostr.Event, here Here) (bool, error) {
	if s.Owns(e) {
		return true, nil
	}
	if nip34.Is(e.Kind, nip34.Hosted|nip34.Personal) {
		return false, nil
	}
	refs := nip34.References(e)
	for _, a := range refs.Addresses {
		if s.Covers(a) {
			continue
		}
		if ok, err := here.HasAddress(a.String()); ok || err != nil {
			return false, err
		}
	}
	for _, id := range refs.IDs {
		if ok, err := here.Has(id); ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
