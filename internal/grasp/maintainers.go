package grasp

import (
	"slices"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// Set is who has a say in a repository: its author first, then sorted. The two lists share nobody.
type Set struct {
	Members []nostr.PubKey // decide for the repository
	Invited []nostr.PubKey // listed by a member, but do not list one back
}

// Has reports whether pk decides for the repository.
func (s Set) Has(pk nostr.PubKey) bool { return slices.Contains(s.Members, pk) }

// HasInvited reports whether pk is invited only.
func (s Set) HasInvited(pk nostr.PubKey) bool { return slices.Contains(s.Invited, pk) }

// Maintainers is who maintains the repository that root announces. Its author always does. Whoever a member lists is
// invited, and becomes a member when his own announcement with the same d lists any member. same is all announcements
// that are known; those with another d, superseded ones and others by root's author do not count, and their order does
// not matter.
//
// Role tags go before the maintainers tag, key by key: a key with role tags in an announcement is listed there if a lead
// or co-maintainer role of it is active. What somebody's own announcement says of him outranks what others say: with role
// tags for himself of which none is such, he has declined. An announcement that is a subordinate fork declines as well.
// Who declined is neither member nor invited, unless he is root's author.
func Maintainers(root *nip34.Announcement, same []*nip34.Announcement) Set {
	group := []*nip34.Announcement{root}
	for _, a := range same {
		if a.Address.D == root.Address.D && a.Address.PubKey != root.Address.PubKey {
			group = append(group, a)
		}
	}
	return NewGroup(group).Maintainers(root.Address.PubKey)
}
