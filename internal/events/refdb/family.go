package refdb

import (
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// family has all announcements with one identifier.
type family struct {
	t              snapshot
	states         *states
	d              string
	served         []refs.Announcement
	waiting        []refs.Announcement
	servedCouncils *grasp.Councils // who maintains what, by the served announcements
	allCouncils    *grasp.Councils // who would maintain what if the waiting announcements were served too

	councilsOf map[nostr.PubKey][]*grasp.Set // the councils that each author is in; nil until somebody asks
	seats      map[*grasp.Set][]nostr.PubKey // for each council, the owners of the repositories for which it decides
}

// with returns the family as it will be when a is served too.
func (f *family) with(a refs.Announcement) *family {
	g := family{t: f.t, states: f.states, d: f.d, served: f.served, waiting: f.waiting}
	g.served = append(g.served[:len(g.served):len(g.served)], a)
	listings := make([]grasp.Listing, 0, len(g.served)+len(g.waiting))
	for _, x := range g.served {
		listings = append(listings, x.Listing)
	}
	g.servedCouncils = grasp.FamilyOf(listings).Councils()
	for _, x := range g.waiting {
		listings = append(listings, x.Listing)
	}
	g.allCouncils = grasp.FamilyOf(listings).Councils()
	return &g
}

// repository returns the address of an owner's repository with the identifier of the family.
func (f *family) repository(owner nostr.PubKey) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: f.d}
}

// everybody returns the authors of all announcements, each once.
func (f *family) everybody() []nostr.PubKey {
	var all []nostr.PubKey
	seen := map[nostr.PubKey]bool{}
	for _, list := range [][]refs.Announcement{f.served, f.waiting} {
		for _, a := range list {
			if !seen[a.Author] {
				seen[a.Author] = true
				all = append(all, a.Author)
			}
		}
	}
	return all
}

// councils returns those of allCouncils that an author is in. The first call finds them for all authors, as callers ask for many.
func (f *family) councils(author nostr.PubKey) []*grasp.Set {
	if f.councilsOf == nil {
		f.councilsOf, f.seats = map[nostr.PubKey][]*grasp.Set{}, map[*grasp.Set][]nostr.PubKey{}
		for _, owner := range f.everybody() {
			set := f.allCouncils.Of(owner)
			if f.seats[set] == nil {
				for _, pk := range set.Members {
					f.councilsOf[pk] = append(f.councilsOf[pk], set)
				}
			}
			f.seats[set] = append(f.seats[set], owner)
		}
	}
	return f.councilsOf[author]
}

// together returns everybody who maintains some repository together with that author, the author first.
func (f *family) together(author nostr.PubKey) []nostr.PubKey {
	all, seen := []nostr.PubKey{author}, map[nostr.PubKey]bool{author: true}
	for _, set := range f.councils(author) {
		for _, pk := range set.Members {
			if !seen[pk] {
				seen[pk] = true
				all = append(all, pk)
			}
		}
	}
	return all
}

// state returns the served state of an author, or the waiting one where waiting is set; nil where there is none, or a malformed one.
func (f *family) state(author nostr.PubKey, waiting bool) (*refs.State, error) {
	address := nip34.Address{Kind: nip34.KindState, PubKey: author, D: f.d}.String()
	if waiting {
		at, ok, err := f.t.WaitingAt(address)
		if err != nil || !ok {
			return nil, err
		}
		s, err := f.states.read(at.ID, func() (*nostr.Event, error) {
			w, err := f.t.Waiting(at.ID)
			return w.Event, err
		})
		if err != nil || s.expires <= f.t.now().Unix() {
			return nil, err
		}
		return s.state, nil
	}
	at, ok, err := f.t.Newest(address)
	if ok && err == nil {
		ok, err = f.t.Has(at.ID)
	}
	if err != nil || !ok {
		return nil, err
	}
	s, err := f.states.read(at.ID, func() (*nostr.Event, error) {
		e, _, err := f.t.Get(at.ID)
		return e, err
	})
	return s.state, err
}

// dirOf returns the directory of a repository, the zero Dir if it has no data.
func dirOf(t snapshot, of nip34.Address) (Dir, error) {
	row, err := t.Row(RowName(of))
	if row == nil || err != nil {
		return Dir{}, err
	}
	_, dir, err := Head(row)
	return dir, err
}

// homes returns the directories of the repositories for which that author decides.
func (f *family) homes(author nostr.PubKey) ([]Dir, error) {
	var dirs []Dir
	for _, set := range f.councils(author) {
		for _, owner := range f.seats[set] {
			dir, err := dirOf(f.t, f.repository(owner))
			if err != nil {
				return nil, err
			}
			if !dir.IsZero() {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, nil
}

// objectsOf returns the objects that a state names.
func objectsOf(s *refs.State) []gitwire.ObjectID {
	ids := make([]gitwire.ObjectID, 0, len(s.Refs))
	for _, r := range s.Refs {
		ids = append(ids, r.ID)
	}
	return ids
}

// firstHome returns the owner of the one repository in which graspd completes a waiting state of that author, so that it fetches the
// state's objects once.
func (f *family) firstHome(author nostr.PubKey) (nostr.PubKey, error) {
	for _, owner := range append([]nostr.PubKey{author}, f.everybody()...) {
		if members := f.allCouncils.Of(owner); !members.Has(author) {
			continue
		}
		own, err := announcementsOf(f.t, f.repository(owner))
		if err != nil {
			return owner, err
		}
		if slices.ContainsFunc(own, f.t.serves) {
			return owner, nil
		}
	}
	return author, nil
}
