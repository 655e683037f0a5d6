package grasp

import (
	"slices"

	"github.com/graspd/graspd/internal/nostr"
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
