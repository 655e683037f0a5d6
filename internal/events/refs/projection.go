package refs

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Projection is the refs of one repository, as they follow from what is stored about it. A row of the store keeps the Projection, so that
// Next needs only what has come since.
type Projection struct {
	Ruling
	PullRequests Pulls  // refs/nostr/<event id>: the tips of served pull requests that name the repository, within bounds
	Generation   uint64 // how often any of these fields has changed
}

// Change says what has come and gone since a Projection was made.
type Change struct {
	Members      *grasp.Set    // who decides for the repository now
	States       []State       // served ones that are complete here: the newest by Members, after a change of Members of all, else at least of the new ones
	PullRequests []PullRequest // served ones whose tips are complete in this repository: at least the new ones
	Gone         []nostr.ID    // pull requests that are served no more
}

// Next returns the projection of the repository at that address after a change. States by people who are no members, states with another
// identifier, and pull requests that do not name the repository change nothing.
func (p Projection) Next(of nip34.Address, c Change) Projection {
	return p.to(Projection{
		Ruling:       p.Ruling.after(of.D, c.Members, c.States),
		PullRequests: p.PullRequests.with(tipChanges(of, c)),
	})
}

// Tips returns the projection with the refs of more pull requests, within the bounds of these. Branches and tags stay.
func (p Projection) Tips(of nip34.Address, more []PullRequest) Projection {
	return p.to(Projection{Ruling: p.Ruling, PullRequests: p.PullRequests.with(tipChanges(of, Change{PullRequests: more}))})
}

// Anew makes the projection from all that is stored, which c holds, for a row that is in doubt. From p it takes only what no stored event
// tells: a ruling state that is gone, where HEAD was, and the generation.
func (p Projection) Anew(of nip34.Address, c Change) Projection {
	return p.to(Projection{
		Ruling:       p.Ruling.after(of.D, c.Members, c.States),
		PullRequests: Pulls(nil).with(tipChanges(of, c)),
	})
}

// to returns next with the generation after that of p, or p itself where the two say the same.
func (p Projection) to(next Projection) Projection {
	if p.same(next) {
		return p
	}
	next.Generation = p.Generation + 1
	return next
}

func (p Projection) same(other Projection) bool {
	return p.Ruled == other.Ruled && p.ID == other.ID && p.Head == other.Head && p.Refs.Equal(other.Refs) &&
		p.PullRequests.Equal(other.PullRequests)
}

// tipChanges returns a Pull for each ref of a pull request that comes or goes; a Pull that goes has no tip. A pull request that both came
// and went is gone.
func tipChanges(of nip34.Address, c Change) Pulls {
	var list Pulls
	for _, id := range c.Gone {
		list = append(list, Pull{Stamp: nostr.Stamp{ID: id}})
	}
	for _, pr := range c.PullRequests {
		if pr.Names(of) {
			list = append(list, Pull{pr.Stamp, pr.Author, pr.Tip}) // without a tip there is no ref
		}
	}
	slices.SortStableFunc(list, byEvent)
	return slices.CompactFunc(list, func(a, b Pull) bool { return a.ID == b.ID })
}

// All returns all refs of the repository in order: branches, tips of pull requests, tags.
func (p Projection) All() Set { return p.Some(len(p.PullRequests)) }

// Some returns the refs as All does, but at most so many of pull requests: the newest.
func (p Projection) Some(most int) Set {
	i, _ := p.Refs.find(tips)
	return slices.Concat(p.Refs[:i], p.PullRequests.Newest(most).Set(), p.Refs[i:])
}
