package grasp

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Councils finds the maintainers for many authors of a Family. A thousand authors who all list each other have one council, which Councils
// works out once. One goroutine uses a Councils.
type Councils struct {
	family *Family
	of     []*Set // by key; nil = not asked yet
}

// Councils prepares for questions about many authors.
func (f *Family) Councils() *Councils { return &Councils{f, make([]*Set, len(f.keys))} }

// Of returns who maintains the repository of an author, as Family.Maintainers does, but with all members sorted, the author among them.
// The caller must not change the Set: authors who decide for each other's repositories share a Set.
func (c *Councils) Of(author nostr.PubKey) *Set {
	root, ok := c.family.index[author]
	if !ok {
		return &Set{Members: []nostr.PubKey{author}}
	}
	if c.of[root] == nil {
		s := c.family.Maintainers(author)
		slices.SortFunc(s.Members, nostr.PubKey.Compare)
		c.share(root, &s)
	}
	return c.of[root]
}

// Declines reports whether an author's announcement keeps them out of other people's repositories.
func (c *Councils) Declines(author nostr.PubKey) bool {
	i, ok := c.family.index[author]
	return ok && c.family.decline[i]
}

// share gives s to root and to all who are bound to root by listings in both directions. If two list each other and neither declines, each
// is a member of the other's repository. The set of a member lies within the set of the repository's author. So both have the same members,
// and these invite the same people.
func (c *Councils) share(root int, s *Set) {
	c.of[root] = s
	if c.family.decline[root] {
		return
	}
	for todo := []int{root}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range c.family.lists[i] {
			if c.of[j] == nil && !c.family.decline[j] && slices.Contains(c.family.lists[j], i) {
				c.of[j] = s
				todo = append(todo, j)
			}
		}
	}
}
