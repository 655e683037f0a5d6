package policy

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	barredAuthor = "blocked: this relay does not take events by this author; publish them on another relay, or ask its operator"
	barredEvent  = "blocked: this relay does not carry this event; publish it on another relay, or ask its operator"
	barredRepo   = "blocked: this relay does not carry this repository; name other relays in its announcement, or ask its operator"
)

// barred decides about an event by an author whose events the lists do not take. It accepts only what takes away the author's own events
// here: a deletion, a request to vanish, and a version of an announcement that leaves.
func (r Rules) barred(e *nostr.Event, v View) (Verdict, error) {
	switch e.Kind {
	case nostr.KindVanish:
		return r.vanish(e, v)
	case nostr.KindDeletion:
		own, err := ofOwn(e, v)
		if own || err != nil {
			return Verdict{}, err
		}
	case nip34.KindRepository:
		verdict, err := r.announcement(e, v)
		if verdict.Outcome == Withdraw || err != nil {
			return verdict, err
		}
	}
	return Verdict{Refuse, barredAuthor}, nil
}

// ofOwn reports whether a deletion names a served event of its own author.
func ofOwn(e *nostr.Event, v View) (bool, error) {
	refs := nip34.References(e)
	for _, id := range refs.IDs {
		if ok, err := v.HasBy(id, e.PubKey); ok || err != nil {
			return ok, err
		}
	}
	for _, a := range refs.Addresses {
		if a.PubKey != e.PubKey {
			continue
		}
		if ok, err := v.HasAddress(a.String()); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// admit decides, among the others with its d tag, about an announcement that would be accepted if there were no lists.
func (a Announcer) admit(same *Announced) Verdict {
	switch {
	case a.barred:
		return Verdict{Refuse, barredRepo}
	case same.invites(same.byLists(), a):
		return Verdict{}
	}
	return Verdict{NoMaintainer, barredRepo} // an admitted announcement may still come and invite the author
}

// carrier tells whether this relay takes an event because of an address that it names.
type carrier struct {
	Rules
	view View
	same map[string]*Announced // by d tag, so that carries asks the view once for each
}

func (r Rules) carrier(v View) *carrier { return &carrier{r, v, make(map[string]*Announced)} }

// carries reports whether something is served at this address. For a repository and for its state the lists must have nothing against the
// repository either: a repository that was accepted before the lists denied it stays, but the relay takes nothing more for it.
func (c *carrier) carries(a nip34.Address) (bool, error) {
	ok, err := c.view.HasAddress(a.String())
	if !ok || err != nil || a.Kind != nip34.KindRepository && a.Kind != nip34.KindState {
		return ok, err
	}
	repository := nip34.Address{Kind: nip34.KindRepository, PubKey: a.PubKey, D: a.D}
	switch {
	case c.Lists.Bars(repository):
		return false, nil
	case c.Lists.none():
		return true, nil
	}
	same := c.same[a.D]
	if same == nil {
		if same, err = c.view.Announcements(a.D, c.Rules); err != nil {
			return false, fmt.Errorf("who is invited: %w", err)
		}
		c.same[a.D] = same
	}
	return same.byLists().welcome.Has(a.PubKey), nil
}
