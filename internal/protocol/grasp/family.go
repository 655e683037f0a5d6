package grasp

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// MaxMaintainers is how many keys one announcement can list as maintainers; further keys are ignored. Within this bound a question about
// a thousand announcements that all list each other costs some 15 ms.
const MaxMaintainers = 100

// Family is all announcements with one d tag, prepared for questions about who maintains what. Nobody changes it after FamilyOf.
type Family struct {
	keys    []nostr.PubKey
	index   map[nostr.PubKey]int // where a key stands in keys
	lists   [][]int              // the keys that each key's announcement lists; nil without one
	listers [][]int              // the keys whose announcements list each key
	decline []bool               // the key's announcement keeps out of other people's repositories
}

// FamilyOf makes the Family of the listings of announcements with one d tag, in any order. Of several listings of one author the newest
// counts; of two of the same second the one with the lower id.
func FamilyOf(same []Listing) *Family {
	newest := make(map[nostr.PubKey]*Listing, len(same))
	for i := range same {
		l := &same[i]
		if old := newest[l.Author]; old == nil || l.Stamp().Newer(old.Stamp()) {
			newest[l.Author] = l
		}
	}
	f := &Family{index: make(map[nostr.PubKey]int, len(same))}
	for pk, l := range newest {
		i := f.add(pk)
		f.decline[i] = l.Declines
		for _, other := range l.Listed {
			j := f.add(other)
			f.lists[i] = append(f.lists[i], j)
			f.listers[j] = append(f.listers[j], i)
		}
	}
	return f
}

func (f *Family) add(pk nostr.PubKey) int {
	i, ok := f.index[pk]
	if !ok {
		i = len(f.keys)
		f.index[pk] = i
		f.keys = append(f.keys, pk)
		f.lists, f.listers, f.decline = append(f.lists, nil), append(f.listers, nil), append(f.decline, false)
	}
	return i
}

// Maintainers returns who maintains the repository that an author announces. The author is always a member, with an announcement in the
// family or without. Whoever a member lists is invited, and becomes a member when their own announcement lists any member.
//
// Role tags go before the maintainers tag, key by key: a key with role tags in an announcement is listed there if a lead
// or co-maintainer role of it is active. What somebody's own announcement says of them outranks what others say: with role
// tags for themselves and no such role among them, they have declined. The author of a subordinate fork declines as well.
// Whoever declined is neither member nor invited, unless they are the author.
func (f *Family) Maintainers(author nostr.PubKey) Set {
	root, ok := f.index[author]
	if !ok {
		return Set{Members: []nostr.PubKey{author}}
	}
	of := make([]standing, len(f.keys))
	members := f.spread(root, of)
	set := Set{Members: []nostr.PubKey{author}}
	for _, i := range members[1:] {
		set.Members = append(set.Members, f.keys[i])
	}
	for i, s := range of {
		if s == invited {
			set.Invited = append(set.Invited, f.keys[i])
		}
	}
	slices.SortFunc(set.Members[1:], nostr.PubKey.Compare)
	slices.SortFunc(set.Invited, nostr.PubKey.Compare)
	return set
}

// standing says what part somebody has in a repository.
type standing byte

const (
	stranger standing = iota
	invited
	member
)

// spread fills in everybody's standing in the repository of root, and returns the members in the order in which they join. It follows
// every listing at most three times.
func (f *Family) spread(root int, of []standing) []int {
	members := []int{root}
	of[root] = member
	for next := 0; next < len(members); next++ {
		m := members[next]
		for _, i := range f.lists[m] {
			if of[i] != stranger || f.decline[i] {
				continue
			}
			of[i] = invited
			if slices.ContainsFunc(f.lists[i], func(j int) bool { return of[j] == member }) {
				of[i] = member
				members = append(members, i)
			}
		}
		for _, i := range f.listers[m] {
			if of[i] == invited {
				of[i] = member
				members = append(members, i)
			}
		}
	}
	return members
}
