package policy

import (
	"slices"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Announcer is what decisions need to know of an announcement that is served, as Rules have read it.
type Announcer struct {
	grasp.Listing
	lists    bool // it lists this service as a relay
	clones   bool // it has a clone URL of it
	archived bool // it is carried though it does not
	sealed   bool // it is never archived, as it says that it is private and this service is not
	admitted bool // the lists let it make a repository of its own
	barred   bool // they take nothing of it
}

// Read reads an announcement that is served; false is for one that nobody can read.
func (r Rules) Read(e *nostr.Event) (Announcer, bool) {
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return Announcer{}, false
	}
	return r.Announcer(a), true
}

// Announcer is what the rules read in an announcement.
func (r Rules) Announcer(a *nip34.Announcement) Announcer {
	return Announcer{Listing: grasp.ListingOf(a), lists: r.Service.Lists(a), clones: r.Service.Clones(a), sealed: r.seals(a)}.Under(r.Lists, a.Address, r.relays(a))
}

// Under is what other lists make of the announcement, which stands at that address and lists these relays.
func (a Announcer) Under(l Lists, at nip34.Address, relays []grasp.RelayURL) Announcer {
	a.admitted, a.barred, a.archived = l.Admits(at), l.Bars(at), !a.sealed && l.Archive.takes(at, relays)
	return a
}

// Founds says whether it makes a repository of its own, where it is served: it lists this service or is archived, and the lists admit it.
func (a Announcer) Founds() bool { return a.here() && a.admitted }

func (a Announcer) here() bool { return a.lists || a.archived }

// Counts says whether it has a part in any repository: the lists do not bar it.
func (a Announcer) Counts() bool { return !a.barred }

// Group is announcements with one d, of which those that count have a part in who maintains what: its Councils tell, for every
// author, the members of the repository, whose word counts there, and who is only invited. Of what is served it is made here
// alone, for decisions and for the fold. Whoever else has to know who maintains a repository, say to let somebody write to it, asks
// want.Desired.Councils.
func Group(same []Announcer, counts func(Announcer) bool) *grasp.Group {
	return grasp.GroupOf(listings(same, counts))
}

// Keys is how many keys it names, its author's among them: what it costs in memory.
func (a Announcer) Keys() int { return 1 + len(a.Listed) }

// Announced are the served announcements with one d, prepared for questions about who is welcome among them. What a question
// works out serves those after it. It belongs to one goroutine.
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

// With are these and more.
func (a *Announced) With(more []Announcer) *Announced {
	if len(more) == 0 {
		return a
	}
	return NewAnnounced(append(a.list[:len(a.list):len(a.list)], more...))
}

// Listings are what those say that count.
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

// Steps is how much the questions since the last call took: keys and listings that were looked at.
func (a *Announced) Steps() int {
	n := a.steps
	a.steps = 0
	return n
}

// assembly is who has a part in the repositories of some authors.
type assembly struct {
	group   *grasp.Group
	roots   []nostr.PubKey
	welcome *grasp.Welcome
}

// withoutLists is everybody whose announcement is accepted where there are no lists: authors of those that list this service or are archived, and
// everybody in their maintainer sets.
func (a *Announced) withoutLists() *assembly {
	if a.open == nil {
		a.open = a.assemble(func(Announcer) bool { return true }, Announcer.here)
	}
	return a.open
}

// byLists is everybody whose announcement the lists leave: the authors of those that list this service and are admitted, and
// everybody in their maintainer sets.
func (a *Announced) byLists() *assembly {
	if a.lists == nil {
		a.lists = a.assemble(Announcer.Counts, Announcer.Founds)
	}
	return a.lists
}

func (a *Announced) assemble(counts, root func(Announcer) bool) *assembly {
	s := &assembly{group: Group(a.list, counts)}
	for _, x := range a.list {
		a.steps += x.Keys()
		if root(x) {
			s.roots = append(s.roots, x.Author)
		}
	}
	s.welcome = s.group.Welcome(s.roots)
	a.steps += s.welcome.Steps()
	return s
}

// invites reports whether an announcement that makes no repository of its own would be accepted for being invited, in the place of
// the one by its author that is here.
func (a *Announced) invites(s *assembly, own Announcer) bool {
	if own.Declines {
		return false
	}
	w := s.welcome
	if slices.Contains(s.roots, own.Author) { // by their own word so far, which they take back
		w = s.group.Welcome(slices.DeleteFunc(slices.Clone(s.roots), func(pk nostr.PubKey) bool { return pk == own.Author }))
		a.steps += w.Steps()
	}
	return w.Invites(own.Author)
}

// withoutClone reports whether the announcement of that author that is here lists this service as a relay and has no clone URL of it.
func (a *Announced) withoutClone(author nostr.PubKey) bool {
	return slices.ContainsFunc(a.list, func(x Announcer) bool { return x.Author == author && x.lists && !x.clones })
}
