package refs

import (
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Ruling is the state that rules a repository, or ruled it last: of the states with the repository's identifier, by its confirmed
// maintainers, whose objects are complete, the newest; on a tie the one with the lowest id. The zero Ruling is that of a repository which
// no state has ruled yet.
//
// A ruling stays when its state is deleted or expires: nobody's clone empties, and nothing older rules again because an event went. When
// the author of the state no longer maintains the repository, the newest complete state by those who do rules instead, whatever its age, as
// soon as there is one.
type Ruling struct {
	State      // Refs are the repository's; Head is one of them, or ""
	Ruled bool // false in the zero value alone
}

// yields reports whether to would rule in the place of r, once the objects of to are complete.
func (r Ruling) yields(to State, members *grasp.Set) bool {
	return members.Has(to.Author) && to.Flaw == "" && (!r.Ruled || !members.Has(r.Author) || to.Newer(r.Stamp))
}

// after returns what rules once these states, by anybody, are complete. After a change of the members complete has to hold all stored
// states; otherwise the new ones suffice.
func (r Ruling) after(d string, members *grasp.Set, complete []State) Ruling {
	best := -1
	for i, s := range complete {
		if s.D == d && r.yields(s, members) && (best < 0 || s.Newer(complete[best].Stamp)) {
			best = i
		}
	}
	if best < 0 {
		return r
	}
	s := complete[best]
	s.Head = headOf(r.Head, s)
	return Ruling{State: s, Ruled: true}
}

// headOf returns the branch at which HEAD is once s rules: the branch that s names, else the branch at which HEAD was, else main, master or
// the first branch. It returns "" where there is no branch.
func headOf(before string, s State) string {
	for _, name := range []string{s.Head, before, "refs/heads/main", "refs/heads/master"} {
		if !s.Refs.Get(name).IsZero() && isBranch(name) {
			return name
		}
	}
	for _, r := range s.Refs {
		if isBranch(r.Name) {
			return r.Name
		}
	}
	return ""
}
