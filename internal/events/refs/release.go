package refs

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Announcement is the identifier of a repository announcement (kind 30617), and whom the announcement lists.
type Announcement struct {
	D string
	grasp.Listing
}

// ReadAnnouncement reads a kind 30617 event. The errors of ReadAnnouncement are those of nip34.ParseAnnouncement.
func ReadAnnouncement(e *nostr.Event) (Announcement, error) {
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return Announcement{}, err
	}
	return Announcement{a.Address.D, grasp.ListingOf(a)}, nil
}

// Address returns the address of the repository.
func (a Announcement) Address() nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: a.Author, D: a.D}
}

// Waiting has events that wait for git data, and the served events that matter for their release. An event that has just come and that
// Decide would store is among the waiting ones too, as others may wait for it.
type Waiting struct {
	Announcements []Announcement
	States        []State
	PullRequests  []PullRequest

	Served   []Announcement // with an identifier of one of those above
	Complete []State        // with such an identifier, served and complete here; needed when an announcement has come
}

// Release returns the ids of the events whose wait is over; ready reports which states and pull requests are complete. No event comes
// before one that it depends on: announcements, states, pull requests, updates of these; each by time.
//
// Release releases an announcement with a pull request that names it, and with a state by a confirmed maintainer of a repository that the
// announcement's author maintains: the author's own, or one whose membership rests on what the author announced. It releases no version
// that a newer one at its address replaces: a newer announcement, and a newer state that is served or released.
func (w Waiting) Release(ready func(nostr.ID) bool) []nostr.ID {
	w.Announcements = latest(w.Announcements, w.Served)
	var states []State
	for _, s := range w.States {
		if s.Flaw == "" && ready(s.ID) {
			states = append(states, s)
		}
	}
	states = latest(states, w.Complete)
	first, updates := w.readyPullRequests(ready)
	out := make([]bool, len(w.Announcements))
	w.named(out, first)
	w.named(out, updates)
	w.ruled(out, slices.Concat(states, w.Complete))
	var released []Announcement
	for i, a := range w.Announcements {
		if out[i] {
			released = append(released, a)
		}
	}
	return inTime(inTime(inTime(inTime(nil, released), states), first), updates)
}

// stamped is an event as far as it says which of two is newer.
type stamped interface{ stamp() nostr.Stamp }

func (a Announcement) stamp() nostr.Stamp { return nostr.Stamp{CreatedAt: a.CreatedAt, ID: a.ID} }
func (s State) stamp() nostr.Stamp        { return s.Stamp }
func (p PullRequest) stamp() nostr.Stamp  { return p.Stamp }

// version is an event that newer ones at its address replace.
type version interface {
	stamped
	Address() nip34.Address
}

// latest returns those of list to which no event of list or served is newer at the same address.
func latest[E version](list, served []E) []E {
	at := map[nip34.Address]nostr.Stamp{}
	for _, x := range slices.Concat(list, served) {
		if s, ok := at[x.Address()]; !ok || x.stamp().Newer(s) {
			at[x.Address()] = x.stamp()
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(x E) bool { return at[x.Address()].Newer(x.stamp()) })
}

// readyPullRequests returns the complete pull requests, and the complete updates apart. An update whose repositories another event names is
// not released before that event.
func (w Waiting) readyPullRequests(ready func(nostr.ID) bool) (first, updates []PullRequest) {
	stays := map[nostr.ID]bool{}
	for _, p := range w.PullRequests {
		stays[p.ID] = p.Tip.IsZero() || !ready(p.ID)
	}
	for _, p := range w.PullRequests {
		switch {
		case stays[p.ID] || stays[p.Through]:
		case p.Updates == nostr.ID{}:
			first = append(first, p)
		default:
			updates = append(updates, p)
		}
	}
	return first, updates
}

// named marks the announcements that pull requests name.
func (w Waiting) named(out []bool, prs []PullRequest) {
	names := map[nip34.Address]bool{}
	for _, p := range prs {
		for _, a := range p.Repositories {
			names[a] = true
		}
	}
	for i, a := range w.Announcements {
		out[i] = out[i] || names[a.Address()]
	}
}

// ruled marks the announcements of all maintainers of repositories for which the author of one of these states decides.
func (w Waiting) ruled(out []bool, states []State) {
	authors := map[string]map[nostr.PubKey]bool{} // by identifier
	for _, s := range states {
		if s.Flaw != "" {
			continue
		}
		if authors[s.D] == nil {
			authors[s.D] = map[nostr.PubKey]bool{}
		}
		authors[s.D][s.Author] = true
	}
	for d, decide := range authors {
		members := w.together(d, decide)
		for i, a := range w.Announcements {
			out[i] = out[i] || a.D == d && members[a.Author]
		}
	}
}

// together returns the members of all repositories with that identifier that one of the authors maintains.
func (w Waiting) together(d string, authors map[nostr.PubKey]bool) map[nostr.PubKey]bool {
	var listings []grasp.Listing
	for _, a := range slices.Concat(w.Served, w.Announcements) {
		if a.D == d {
			listings = append(listings, a.Listing)
		}
	}
	councils := grasp.FamilyOf(listings).Councils()
	members := map[nostr.PubKey]bool{}
	seen := map[*grasp.Set]bool{}
	for _, l := range listings {
		set := councils.Of(l.Author)
		if seen[set] || !slices.ContainsFunc(set.Members, func(pk nostr.PubKey) bool { return authors[pk] }) {
			continue
		}
		seen[set] = true
		for _, pk := range set.Members {
			members[pk] = true
		}
	}
	return members
}

// inTime appends the ids of events, the oldest first. Within one second the lowest id comes last, as NIP-01 takes it for the newest.
func inTime[E stamped](ids []nostr.ID, list []E) []nostr.ID {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b E) int {
		switch {
		case b.stamp().Newer(a.stamp()):
			return -1
		case a.stamp().Newer(b.stamp()):
			return 1
		}
		return 0
	})
	for _, e := range list {
		ids = append(ids, e.stamp().ID)
	}
	return ids
}
