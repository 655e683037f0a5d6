package policy

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Announcer is what decisions need of an announcement, as Rules have read it.
type Announcer struct {
	grasp.Listing
	lists    bool // the announcement lists this service as a relay
	clones   bool // it has a clone URL of this service
	archived bool // this service archives it (GRASP-05), so it need not list this service
	sealed   bool // this service never archives it: it says that it is private, and this service is not
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

// Under returns a as the lists l judge it. The announcement stands at the address at and lists these relays.
func (a Announcer) Under(l Lists, at nip34.Address, relays []grasp.RelayURL) Announcer {
	a.admitted, a.barred, a.archived = l.Admits(at), l.Bars(at), !a.sealed && l.Archive.takes(at, relays)
	return a
}

// Founds reports whether the announcement, once served, makes a repository of its own: it lists this service or is archived, and the lists
// admit it.
func (a Announcer) Founds() bool { return a.here() && a.admitted }

func (a Announcer) here() bool { return a.lists || a.archived }

// Counts reports whether the announcement has a part in any repository: the lists do not bar it.
func (a Announcer) Counts() bool { return !a.barred }

// Family prepares announcements with one d tag for questions about who maintains what. It leaves out those for which counts is false. The
// Councils of a Family tell, for every author, the members of the repository, whose states count there, and the invited. Both decisions and
// the fold of package want group announcements by this function. Whoever else has to know who maintains a repository, say to let somebody
// write to it, asks want.Desired.Councils.
func Family(same []Announcer, counts func(Announcer) bool) *grasp.Family {
	return grasp.FamilyOf(listings(same, counts))
}

// Keys returns how many keys the announcement names, with the author's. Its memory and work grow with that number.
func (a Announcer) Keys() int { return 1 + len(a.Listed) }

// Announced holds the served announcements with one d tag, and answers who is welcome among them. It keeps answers for the next question.
// One goroutine at a time may use an Announced.
type Announced struct {
	list  []Announcer
	open  *assembly // who would be welcome without lists; nil = nobody has asked
	lists *assembly // who is welcome by the lists; nil = nobody has asked
	steps int
}

// NewAnnounced takes at most MaxAnnouncements announcements, one per author, as the same Rules read them. Nobody changes the list after
// that.
func NewAnnounced(list []Announcer) *Announced {
	return &Announced{list: list[:min(len(list), MaxAnnouncements)]}
}

// Gather reads announcements, as a View has them, into an Announced.
func (r Rules) Gather(events []*nostr.Event) *Announced { return NewAnnounced(r.ReadAll(events)) }

// ReadAll reads announcements, and leaves out malformed ones.
func (r Rules) ReadAll(events []*nostr.Event) []Announcer {
	list := make([]Announcer, 0, len(events))
	for _, e := range events {
		if a, ok := r.Read(e); ok {
			list = append(list, a)
		}
	}
	return list
}

// With returns the announcements of a and more. It does not change a.
func (a *Announced) With(more []Announcer) *Announced {
	if len(more) == 0 {
		return a
	}
	return NewAnnounced(append(a.list[:len(a.list):len(a.list)], more...))
}

// Listings returns the listings of the announcements that count.
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

// Steps returns how many keys and listings a has looked at since the last call of Steps.
func (a *Announced) Steps() int {
	n := a.steps
	a.steps = 0
	return n
}

// assembly knows who has a part in the repositories of some authors.
type assembly struct {
	family  *grasp.Family
	roots   []nostr.PubKey
	welcome *grasp.Welcome
}

// withoutLists returns everybody whose announcement would be accepted if there were no lists: the authors of announcements that list this
// service or are archived, and everybody in the maintainer sets of these authors.
func (a *Announced) withoutLists() *assembly {
	if a.open == nil {
		a.open = a.assemble(func(Announcer) bool { return true }, Announcer.here)
	}
	return a.open
}

// byLists returns everybody whose announcement is accepted under the lists: the authors of announcements that list this service or are
// archived, and that the lists admit; and everybody in the maintainer sets of these authors.
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

// invites reports whether own, which makes no repository of its own, would be accepted because somebody invites its author. Own is to take
// the place of the author's announcement that is here.
func (a *Announced) invites(s *assembly, own Announcer) bool {
	if own.Declines {
		return false
	}
	w := s.welcome
	if slices.Contains(s.roots, own.Author) { // the version that own replaces makes the author welcome: that does not count
		w = s.family.Welcome(slices.DeleteFunc(slices.Clone(s.roots), func(pk nostr.PubKey) bool { return pk == own.Author }))
		a.steps += w.Steps()
	}
	return w.Invites(own.Author)
}

// withoutClone reports whether that author's announcement here lists this service as a relay and has no clone URL of this service.
func (a *Announced) withoutClone(author nostr.PubKey) bool {
	return slices.ContainsFunc(a.list, func(x Announcer) bool { return x.Author == author && x.lists && !x.clones })
}
