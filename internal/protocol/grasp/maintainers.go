package grasp

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Set says who maintains a repository and who is invited to maintain it. The two lists are sorted, but Family.Maintainers puts the author
// first. Nobody is in both lists.
type Set struct {
	Members []nostr.PubKey // decide for the repository
	Invited []nostr.PubKey // listed by a member, but do not list one back
}

// Has reports whether pk decides for the repository.
func (s Set) Has(pk nostr.PubKey) bool { return slices.Contains(s.Members, pk) }

// HasInvited reports whether pk is invited only.
func (s Set) HasInvited(pk nostr.PubKey) bool { return slices.Contains(s.Invited, pk) }
