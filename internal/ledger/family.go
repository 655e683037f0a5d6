package ledger

import (
	"fmt"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// family is all announcements with one identifier.
type family struct {
	t              Turn
	d              string
	served         []refs.Announcement
	waiting        []refs.Announcement
	servedCouncils *grasp.Councils // who maintains what, by the served announcements
	allCouncils    *grasp.Councils // who maintains what, if the waiting announcements were served, too

	councilsOf map[nostr.PubKey][]*grasp.Set // the councils that each author is in; nil before it is asked for
	seats      map[*grasp.Set][]nostr.PubKey // whose repositories each of allCouncils decides for
}

func (l *Ledger) family(t Turn, d string) (*family, error) {
	f := &family{t: t, d: d}
	same, err := t.Announced(d)
	if err != nil {
		return nil, fmt.Errorf("announcements of %.40q: %w", d, err)
	}
	listings := same.Listings()
	for _, x := range listings {
		f.served = append(f.served, refs.Announcement{D: d, Listing: x})
	}
	f.servedCouncils = grasp.GroupOf(listings).Councils()
	err = t.EachWaitingAnnouncement(d, func(seq store.Seq) error {
		a, err := l.claims.read(t, seq)
		if err == nil && a.readable {
			f.waiting = append(f.waiting, a.Announcement)
			listings = append(listings, a.Listing)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("announcements of %.40q that wait: %w", d, err)
	}
	if f.allCouncils = f.servedCouncils; len(f.waiting) > 0 {
		f.allCouncils = grasp.GroupOf(listings).Councils()
	}
	return f, nil
}

// claims are waiting announcements as they were read. The number of an entry is never given to another event, unless its batch is dropped:
// then Undone empties them.
type claims map[store.Seq]claim

type claim struct {
	refs.Announcement
	readable bool
}

// claimsKept is how many claims are kept, and claimKeys how many keys a claim that is kept may name: both bound the memory.
const (
	claimsKept = 20_000
	claimKeys  = 20
)

func (c *claims) read(t Turn, seq store.Seq) (claim, error) {
	if x, ok := (*c)[seq]; ok {
		return x, nil
	}
	e, err := t.WaitingEvent(seq)
	if err != nil {
		return claim{}, err
	}
	a, err := refs.ReadAnnouncement(e)
	x := claim{a, err == nil}
	if len(a.Listed) > claimKeys {
		return x, nil
	}
	if *c == nil || len(*c) >= claimsKept {
		*c = claims{}
	}
	(*c)[seq] = x
	return x, nil
}

// with is the family as it will be when a is served, too.
func (f *family) with(a refs.Announcement) *family {
	g := family{t: f.t, d: f.d, served: f.served, waiting: f.waiting}
	g.served = append(g.served[:len(g.served):len(g.served)], a)
	listings := make([]grasp.Listing, 0, len(g.served)+len(g.waiting))
	for _, x := range g.served {
		listings = append(listings, x.Listing)
	}
	g.servedCouncils = grasp.GroupOf(listings).Councils()
	for _, x := range g.waiting {
		listings = append(listings, x.Listing)
	}
	g.allCouncils = grasp.GroupOf(listings).Councils()
	return &g
}

func (f *family) repository(owner nostr.PubKey) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: f.d}
}

// everybody gives the authors of all announcements, each once.
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

// councils gives those of allCouncils that an author is in. The first call finds them for all authors, as callers ask for many.
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

// together gives everybody who maintains some repository together with that author, the author first.
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

// state is the state by an author that is served, or that waits where waiting is set; nil where there is none that can be read.
func (f *family) state(author nostr.PubKey, waiting bool) (*refs.State, error) {
	address := nip34.Address{Kind: nip34.KindState, PubKey: author, D: f.d}.String()
	var e *nostr.Event
	var err error
	if waiting {
		var stamp nostr.Stamp
		var ok bool
		if stamp, ok, err = f.t.WaitingAt(address); ok && err == nil {
			w, failed := f.t.Waiting(stamp.ID)
			e, err = w.Event, failed
		}
	} else {
		e, _, err = f.t.At(address)
	}
	if e == nil || err != nil {
		return nil, err
	}
	s, err := refs.ReadState(e)
	if err != nil {
		return nil, nil // the state was stored before unreadable states were refused, and says nothing
	}
	return &s, nil
}

// dirOf is the directory of a repository, the zero one if it has no data.
func (l *Ledger) dirOf(t Turn, of nip34.Address) (Dir, error) {
	row, err := t.Row(RowName(of))
	if row == nil || err != nil {
		return Dir{}, err
	}
	_, dir, err := Head(row)
	return dir, err
}

// homes are the directories of the repositories for which that author decides.
func (l *Ledger) homes(f *family, author nostr.PubKey) ([]Dir, error) {
	var dirs []Dir
	for _, set := range f.councils(author) {
		for _, owner := range f.seats[set] {
			dir, err := l.dirOf(f.t, f.repository(owner))
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

// least gives the ids that are missing in the directory that lacks fewest of them; all ids without a directory.
func (l *Ledger) least(dirs []Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	best := ids
	for _, dir := range dirs {
		if len(best) == 0 {
			break
		}
		missing, err := l.Objects.Missing(dir, ids)
		if err != nil {
			return nil, err
		}
		if len(missing) < len(best) {
			best = missing
		}
	}
	return best, nil
}

// completeIn reports whether all that a state names is in one directory.
func (l *Ledger) completeIn(s *refs.State, dirs ...Dir) (bool, error) {
	if s.Flaw != "" {
		return false, nil
	}
	missing, err := l.least(dirs, objectsOf(s))
	return len(missing) == 0, err
}

func objectsOf(s *refs.State) []gitwire.ObjectID {
	ids := make([]gitwire.ObjectID, 0, len(s.Refs))
	for _, r := range s.Refs {
		ids = append(ids, r.ID)
	}
	return ids
}
