package grasp

import "github.com/graspd/graspd/internal/protocol/nostr"

// Welcome knows who has a part in the repositories of some authors. Nobody changes a Welcome after Family.Welcome.
type Welcome struct {
	family *Family
	roots  map[nostr.PubKey]bool
	listed []bool // by key: a member of one of the repositories lists it
	steps  int
}

// Welcome works out who has a part in the repositories of these authors.
func (f *Family) Welcome(authors []nostr.PubKey) *Welcome {
	w := &Welcome{family: f, roots: make(map[nostr.PubKey]bool, len(authors)), listed: make([]bool, len(f.keys)), steps: len(f.keys)}
	covered, of := make([]bool, len(f.keys)), make([]standing, len(f.keys))
	for _, author := range authors {
		w.roots[author] = true
		root, ok := f.index[author]
		// The set of a member lies within the set that they are a member of.
		if !ok || covered[root] {
			continue
		}
		members := f.spread(root, of)
		for _, i := range members {
			covered[i], of[i] = true, stranger
			w.steps += len(f.lists[i])
			for _, j := range f.lists[i] {
				w.listed[j], of[j] = true, stranger
			}
		}
	}
	return w
}

// Has reports whether pk is one of the authors, or a member of one of the repositories or invited to one.
func (w *Welcome) Has(pk nostr.PubKey) bool {
	if w.roots[pk] {
		return true
	}
	i, ok := w.family.index[pk]
	return ok && w.listed[i] && !w.family.decline[i]
}

// Invites reports whether a member of one of the repositories lists pk, even where pk declines. The announcement of pk does not matter,
// unless pk is one of the authors.
func (w *Welcome) Invites(pk nostr.PubKey) bool {
	i, ok := w.family.index[pk]
	return ok && w.listed[i]
}

// Steps returns how many keys and listings Family.Welcome looked at.
func (w *Welcome) Steps() int { return w.steps }
