package grasp

import (
	"slices"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// MaxMaintainers is how many keys one announcement can list as maintainers; those after them are ignored. With it a
// question about a thousand announcements that all list each other costs some 15 ms.
const MaxMaintainers = 100

// Group is all announcements with one d, prepared for several questions about who maintains what. It is not changed
// after NewGroup.
type Group struct {
	keys    []nostr.PubKey
	index   map[nostr.PubKey]int // of keys
	lists   [][]int              // whom each key's announcement lists; nil without one
	listers [][]int              // by whom each key is listed
	decline []bool               // the key's announcement keeps out of other people's repositories
}

// NewGroup takes announcements that share a d, in any order. Of several by one author the newest counts, on a tie the one
// with the lowest id.
func NewGroup(same []*nip34.Announcement) *Group {
	newest := map[nostr.PubKey]*nip34.Announcement{}
	for _, a := range same {
		if old := newest[a.Address.PubKey]; old == nil || newer(a, old) {
			newest[a.Address.PubKey] = a
		}
	}
	g := &Group{index: map[nostr.PubKey]int{}}
	for pk, a := range newest {
		i := g.add(pk)
		g.decline[i] = declines(a)
		g.list(i, a)
	}
	return g
}

// list enters whom the announcement a of key i makes a maintainer. Its author is not counted.
func (g *Group) list(i int, a *nip34.Announcement) {
	told := map[int]bool{i: true} // keys about which a has had its say
	tell := func(pk nostr.PubKey, maintains bool) {
		j := g.add(pk)
		if !told[j] && maintains && len(g.lists[i]) < MaxMaintainers {
			g.lists[i] = append(g.lists[i], j)
			g.listers[j] = append(g.listers[j], i)
		}
		told[j] = true
	}
	for _, r := range a.Roles {
		if r.Maintains() {
			tell(r.PubKey, true)
		}
	}
	for _, r := range a.Roles {
		tell(r.PubKey, false)
	}
	for _, pk := range a.Maintainers {
		if len(g.lists[i]) == MaxMaintainers {
			break
		}
		tell(pk, true)
	}
}

func (g *Group) add(pk nostr.PubKey) int {
	i, ok := g.index[pk]
	if !ok {
		i = len(g.keys)
		g.index[pk] = i
		g.keys = append(g.keys, pk)
		g.lists, g.listers, g.decline = append(g.lists, nil), append(g.listers, nil), append(g.decline, false)
	}
	return i
}

// Maintainers is who maintains the repository of that author, as the function of that name says.
func (g *Group) Maintainers(author nostr.PubKey) Set {
	root, ok := g.index[author]
	if !ok {
		return Set{Members: []nostr.PubKey{author}}
	}
	of := make([]standing, len(g.keys))
	members := g.spread(root, of)
	set := Set{Members: []nostr.PubKey{author}}
	for _, i := range members[1:] {
		set.Members = append(set.Members, g.keys[i])
	}
	for i, s := range of {
		if s == invited {
			set.Invited = append(set.Invited, g.keys[i])
		}
	}
	slices.SortFunc(set.Members[1:], nostr.PubKey.Compare)
	slices.SortFunc(set.Invited, nostr.PubKey.Compare)
	return set
}

// Welcome is everybody who is a member of, or invited to, the repository of one of the authors.
func (g *Group) Welcome(authors []nostr.PubKey) map[nostr.PubKey]bool {
	welcome, covered := map[nostr.PubKey]bool{}, make([]bool, len(g.keys))
	for _, author := range authors {
		welcome[author] = true
		root, ok := g.index[author]
		// The set of a member lies within the set that he is a member of.
		if !ok || covered[root] {
			continue
		}
		of := make([]standing, len(g.keys))
		for _, i := range g.spread(root, of) {
			covered[i] = true
		}
		for i, s := range of {
			if s != stranger {
				welcome[g.keys[i]] = true
			}
		}
	}
	return welcome
}

// standing is what somebody is to a repository.
type standing byte

const (
	stranger standing = iota
	invited
	member
)

// spread fills in everybody's standing towards the repository of root, and gives the members in the order in which they
// joined. Every listing is followed at most three times.
func (g *Group) spread(root int, of []standing) []int {
	members := []int{root}
	of[root] = member
	for next := 0; next < len(members); next++ {
		m := members[next]
		for _, i := range g.lists[m] {
			if of[i] != stranger || g.decline[i] {
				continue
			}
			of[i] = invited
			if slices.ContainsFunc(g.lists[i], func(j int) bool { return of[j] == member }) {
				of[i] = member
				members = append(members, i)
			}
		}
		for _, i := range g.listers[m] {
			if of[i] == invited {
				of[i] = member
				members = append(members, i)
			}
		}
	}
	return members
}

func newer(a, b *nip34.Announcement) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID.Compare(b.ID) < 0
}

// declines reports whether the author of a wants no part in other people's repositories with this d.
func declines(a *nip34.Announcement) bool {
	own := func(r nip34.Role) bool { return r.PubKey == a.Address.PubKey }
	active := func(r nip34.Role) bool { return own(r) && r.Maintains() }
	return a.Fork || slices.ContainsFunc(a.Roles, own) && !slices.ContainsFunc(a.Roles, active)
}
