package layout

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// UsualKinds has the kinds of nearly all events of a git relay, in ascending order. Events of these kinds have no rows by time alone and by author
// alone: queries merge their rows by kind, and by author and kind, instead. Each usual kind costs every such query a seek. Events of any other
// kind have the two rows, so that a query meets few ranges whatever strangers send. The list is part of the layout.
var UsualKinds = [...]nostr.Kind{
	nostr.KindMetadata, nostr.KindNote, nostr.KindDeletion, nostr.KindReaction, nostr.KindComment,
	nip34.KindPatch, nip34.KindPullRequest, nip34.KindPullRequestUpdate, nip34.KindIssue, nip34.KindReplyOld,
	nip34.KindCoverNote, nip34.KindStatusOpen, nip34.KindStatusApplied, nip34.KindStatusClosed, nip34.KindStatusDraft,
	nostr.KindLabel, nostr.KindRelayList, nip34.KindGraspList, nip34.KindRepository, nip34.KindState,
}

// IsUsual reports whether a kind is one of UsualKinds.
func IsUsual(k nostr.Kind) bool {
	_, ok := slices.BinarySearch(UsualKinds[:], k)
	return ok
}

// MaxKind is the largest kind that an event may have.
const MaxKind = nostr.Kind(1<<16 - 1)
