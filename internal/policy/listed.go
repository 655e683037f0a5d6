package policy

import (
	"fmt"

	"graspd/internal/grasp"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

const (
	barredAuthor = "blocked: this relay does not take events by this author; publish them on another relay, or ask its operator"
	barredRepo   = "blocked: this relay does not carry this repository; name other relays in its announcement, or ask its operator"
)

// barred decides what an author brings whose events are not taken: a word about what is here of him counts, and
// nothing else does.
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

// ofOwn reports whether a deletion names an event of its author that is served.
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

// admit decides about an announcement that would be accepted without lists, among the others with its d.
func (r Rules) admit(a *nip34.Announcement, same []*nip34.Announcement) Verdict {
	switch {
	case r.Lists.Bars(a.Address):
		return Verdict{Refuse, barredRepo}
	case r.invited(same)[a.Address.PubKey]:
		return Verdict{}
	}
	return Verdict{Orphan, barredRepo} // an admitted one may invite its author yet
}

// invited is everybody whose announcement the lists leave among these: the authors of those that list this service and are
// admitted, and everybody in their maintainer sets.
func (r Rules) invited(same []*nip34.Announcement) map[nostr.PubKey]bool {
	var welcome []*nip34.Announcement
	var listing []nostr.PubKey
	for _, a := range same {
		if r.Lists.Bars(a.Address) {
			continue
		}
		welcome = append(welcome, a)
		if r.Service.Lists(a) && r.Lists.Admits(a.Address) {
			listing = append(listing, a.Address.PubKey)
		}
	}
	return grasp.NewGroup(welcome).Welcome(listing)
}

// carrier answers whether what stands at an address draws other events here. It asks once for each d.
type carrier struct {
	Rules
	view    View
	invited map[string]map[nostr.PubKey]bool
}

func (r Rules) carrier(v View) *carrier {
	return &carrier{r, v, make(map[string]map[nostr.PubKey]bool)}
}

// carries reports whether something is served at this address and, where it is a repository or the state of one, that the
// lists have nothing against it: one that was accepted before it was denied stays, and nothing comes to it.
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
	people, asked := c.invited[a.D]
	if !asked {
		same, err := announcements(a.D, c.view)
		if err != nil {
			return false, fmt.Errorf("who is invited: %w", err)
		}
		people = c.Rules.invited(same)
		c.invited[a.D] = people
	}
	return people[a.PubKey], nil
}
