package policy

import (
	"slices"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Announcer is an announcement as Rules have read it: as much of it as decisions need.
type Announcer struct {
	grasp.Listing
	lists    bool // it lists this service as a relay
	clones   bool // it has a clone URL of it
	archived bool // it is archived (GRASP-05), so it need not list this service
	sealed   bool // it is never archived, as it says that it is private and this service is not
	admitted bool // the lists let it make a repository of its own
	barred   bool // the lists take nothing of its repository
}

// Read reads a served announcement; false where it is malformed.
func (r Rules) Read(e *nostr.Event) (Announcer, bool) {
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return Announcer{}, false
	}
	return r.Announcer(a), true
}

// Announcer reads a parsed announcement.
func (r Rules) Announcer(a *nip34.Announcement) Announcer {
	return Announcer{Listing: grasp.ListingOf(a), lists: r.Service.Lists(a), clones: r.Service.Clones(a), sealed: r.seals(a)}.Under(r.Lists, a.Address, r.relays(a))
}

// Under gives a as other lists take it. The announcement stands at that address and lists these relays.
func (a Announcer) Under(l Lists, at nip34.Address, relays []grasp.RelayURL) Announcer {
	a.admitted, a.barred, a.archived = l.Admits(at), l.Bars(at), !a.sealed && l.Archive.takes(at, relays)
	return a
}

// Founds reports whether the announcement makes a repository of its own where it is served: it lists this service or is archived, and the
// lists admit it.
func (a Announcer) Founds() bool { return a.here() && a.admitted }

func (a Announcer) here() bool { return a.lists || a.archived }

// Counts reports whether the announcement has a part in any repository: the lists do not bar it.
func (a Announcer) Counts() bool { return !a.barred }

// Family prepares announcements with one d tag for questions about who maintains what; those that do not count are left out. Its Councils
// give, for every author, the members of the repository, whose states count there, and the invited. Nothing else groups
// served announcements, for decisions and for the fold. Whoever else has to know who maintains a repository, say to let somebody write
// to it, asks want.Desired.Councils.
func Family(same []Announcer, counts func(Announcer) bool) *grasp.Family {
	return grasp.FamilyOf(listings(same, counts))
}

// Keys is how many keys the announcement names, its author's among them: the measure of its memory and work.
func (a Announcer) Keys() int { return 1 + len(a.Listed) }

// Announced are the served announcements with one d tag, prepared for questions about who is welcome among them. An answer is kept for the
// next question. Only one goroutine may use an Announced.
type Announced struct {
	list  []Announcer
	open  *assembly // as if there were no lists
	lists *assembly // what the lists leave
	steps int
}

// NewAnnounced takes at most MaxAnnouncements, one per author, as the same Rules read them. Nobody changes the list after that.
func NewAnnounced(list []Announcer) *Announced {
	return &Announced{list: list[:min(len(list), MaxAnnouncements)]}
}

// Gather reads the announcements of a View.
func (r Rules) Gather(events []*nostr.Event) *Announced { return NewAnnounced(r.ReadAll(events)) }

// ReadAll reads announcements, without those that nobody can read.
func (r Rules) ReadAll(events []*nostr.Event) []Announcer {
	list := make([]Announcer, 0, len(events))
	for _, e := range events {
		if a, ok := r.Read(e); ok {
			list = append(list, a)
		}
	}
	return list
}

// With gives the announcements of a and more. It does not change a.
func (a *Announced) With(more []Announcer) *Announced {
	if len(more) == 0 {
		return a
	}
	return NewAnnounced(append(a.list[:len(a.list):len(a.list)], more...))
}

// Listings gives the listings of the announcements that count.
func (a *Announced) Listings() []grasp.Listing {
	return listings(a.list, Announcer.Counts)
}

func listings(same []Announcer, counts func(Announcer) bool) []grasp.Listing {
	out := make([]grasp.Listing, 0, len(same))
	for _, a := range same {
		if counts(a) {
			out = append(out, a.Listing)
		}
	}
	return out
}

// Steps is how many keys and listings were looked at since the last call.
func (a *Announced) Steps() int {
	n := a.steps
	a.steps = 0
	return n
}

// assembly is who has a part in the repositories of some authors.
type assembly struct {
	family  *grasp.Family
	roots   []nostr.PubKey
	welcome *grasp.Welcome
}

// withoutLists is everybody whose announcement is accepted where there are no lists: the authors of those that list this service or are
// archived, and everybody in the maintainer sets of these authors.
func (a *Announced) withoutLists() *assembly {
	if a.open == nil {
		a.open = a.assemble(func(Announcer) bool { return true }, Announcer.here)
	}
	return a.open
}

// byLists is everybody whose announcement the lists leave: the authors of those that list this service or are archived, and are admitted,
// and everybody in the maintainer sets of these authors.
func (a *Announced) byLists() *assembly {
	if a.lists == nil {
		a.lists = a.assemble(Announcer.Counts, Announcer.Founds)
	}
	return a.lists
}

func (a *Announced) assemble(counts, root func(Announcer) bool) *assembly {
	s := &assembly{family: Family(a.list, counts)}
	for _, x := range a.list {
		a.steps += x.Keys()
		if root(x) {
			s.roots = append(s.roots, x.Author)
		}
	}
	s.welcome = s.family.Welcome(s.roots)
	a.steps += s.welcome.Steps()
	return s
}

// invites reports whether own, which makes no repository of its own, would be accepted as its author is invited. Own takes the place of
// the announcement by its author that is here.
func (a *Announced) invites(s *assembly, own Announcer) bool {
	if own.Declines {
		return false
	}
	w := s.welcome
	if slices.Contains(s.roots, own.Author) { // the author is welcome by the version that own replaces: this does not count
		w = s.family.Welcome(slices.DeleteFunc(slices.Clone(s.roots), func(pk nostr.PubKey) bool { return pk == own.Author }))
		a.steps += w.Steps()
	}
	return w.Invites(own.Author)
}

// withoutClone reports whether the announcement by that author that is here lists this service as a relay and has no clone URL of it.
func (a *Announced) withoutClone(author nostr.PubKey) bool {
	return slices.ContainsFunc(a.list, func(x Announcer) bool { return x.Author == author && x.lists && !x.clones })
}
