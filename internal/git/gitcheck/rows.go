package gitcheck

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// row compares a repository's row with the stored events: branches and tags with the state that rules by the row and with the owner's own
// state, and pull requests with their events. It returns the row as it should be, and what differs. It believes the row about a state that
// is stored no more, as the refs of such a state stay.
func (c Config) row(v *store.View, r refdb.Repository) (to refdb.Repository, said []string, err error) {
	to = r
	change := refs.Change{Members: &grasp.Set{Members: []nostr.PubKey{r.Of.PubKey}}}
	from := r.Refs
	if r.Refs.Ruled {
		s, ok, err := stateOf(v.Get(r.Refs.ID))
		if err != nil {
			return r, nil, err
		}
		if ok && s.D == r.Of.D {
			change.Members.Members = append(change.Members.Members, s.Author)
			if !agree(r.Refs.Ruling, s) {
				from.Ruling = refs.Ruling{State: refs.State{Head: r.Refs.Head}}
				said = append(said, fmt.Sprintf("the log's row of refs is not what the state %.8s says", s.ID))
			}
			c.addComplete(&change, r, s)
		} else if !ok {
			change.Members.Members = append(change.Members.Members, r.Refs.Author)
		}
	}
	if err := c.own(v, r, &change); err != nil {
		return r, nil, err
	}
	for _, x := range r.Refs.PullRequests {
		ok, err := named(v, r.Of, x)
		if err != nil {
			return r, nil, err
		}
		if !ok {
			change.Gone = append(change.Gone, x.ID)
			said = append(said, fmt.Sprintf("the log's row has %s at %.8s, which no event says", x.Name(), x.Tip))
		}
	}
	to.Refs = from.Next(r.Of, change)
	if len(said) == 0 && to.Refs.Generation != r.Refs.Generation {
		said = append(said, fmt.Sprintf("the log's row of refs is by the state %.8s, though the state %.8s rules", r.Refs.ID, to.Refs.ID))
	}
	if len(said) == 0 {
		return r, nil, nil
	}
	to.Refs.Generation = max(to.Refs.Generation, r.Refs.Generation+1)
	to.Peeled = nil
	for _, x := range to.Refs.Refs {
		if id, ok := r.Peeled[x.ID]; ok {
			if to.Peeled == nil {
				to.Peeled = map[gitwire.ObjectID]gitwire.ObjectID{}
			}
			to.Peeled[x.ID] = id
		}
	}
	return to, said, nil
}

// agree reports whether a row says what its ruling state says.
func agree(r refs.Ruling, s refs.State) bool {
	head := r.Head == "" || !r.Refs.Get(r.Head).IsZero()
	if !s.Refs.Get(s.Head).IsZero() {
		head = r.Head == s.Head
	}
	return head && r.Stamp == s.Stamp && r.Author == s.Author && r.Refs.Equal(s.Refs)
}

// own adds the state by the owner of an announced repository.
func (c Config) own(v *store.View, r refdb.Repository, change *refs.Change) error {
	if ok, err := v.HasAddress(r.Of.String()); err != nil || !ok {
		return err
	}
	s, ok, err := stateOf(v.At(nip34.Address{Kind: nip34.KindState, PubKey: r.Of.PubKey, D: r.Of.D}.String()))
	if err != nil || !ok {
		return err
	}
	c.addComplete(change, r, s)
	return nil
}

// addComplete adds a state if everything that it names is in the repository. It ignores an index that it cannot read: look finds that.
func (c Config) addComplete(change *refs.Change, r refdb.Repository, s refs.State) {
	if r.Dir.IsZero() {
		return // no git data has come yet
	}
	if missing, err := c.Disk.Missing(gitrepo.ID(r.Dir), s.Refs.IDs()); err == nil && len(missing) == 0 {
		change.States = append(change.States, s)
	}
}

func stateOf(e *nostr.Event, ok bool, err error) (refs.State, bool, error) {
	if err != nil || !ok {
		return refs.State{}, false, err
	}
	s, bad := refs.ReadState(e)
	return s, bad == nil, nil
}

// named reports whether a pull request is stored that has that tip and is for the repository. An update without a repository is for those of
// its pull request; where that is stored no more, named believes the row.
func named(v *store.View, of nip34.Address, x refs.Pull) (bool, error) {
	if grasp.IsContributed(of) {
		return contributed(v, of, x)
	}
	p, ok, err := pullOf(v.Get(x.ID))
	if err != nil || !ok {
		return false, err
	}
	if len(p.Repositories) == 0 {
		updated, ok, err := pullOf(v.Get(p.Updates))
		if err != nil {
			return false, err
		}
		if !ok {
			return p.Tip == x.Tip, nil
		}
		p = p.Of(updated)
	}
	return p.Tip == x.Tip && p.Names(of), nil
}

// contributed reports whether a pull request of the contributor is stored that has that tip and is for a repository with the identifier of
// the contributed repository. It does not compare the clone URL, as it does not know the name of this relay.
func contributed(v *store.View, of nip34.Address, x refs.Pull) (bool, error) {
	e, ok, err := v.Get(x.ID)
	if err != nil || !ok || e.PubKey != of.PubKey {
		return false, err
	}
	p, bad := refs.ReadPullRequest(e)
	return bad == nil && p.Tip == x.Tip && slices.ContainsFunc(p.Repositories, func(a nip34.Address) bool { return a.D == of.D }), nil
}

func pullOf(e *nostr.Event, ok bool, err error) (refs.PullRequest, bool, error) {
	if err != nil || !ok {
		return refs.PullRequest{}, false, err
	}
	p, bad := refs.ReadPullRequest(e)
	return p, bad == nil, nil
}
