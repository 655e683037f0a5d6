package store

import (
	"slices"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// rulesRefs reports whether events of the kind say what the refs of a repository are, or whose it is.
func rulesRefs(k nostr.Kind) bool {
	switch k {
	case nip34.KindRepository, nip34.KindState, nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		return true
	}
	return false
}

// left notes an event that left, and no newer version has taken its address.
func (b *Batch) left(e *nostr.Event) {
	if e.Kind == nip34.KindRepository {
		b.lost = append(b.lost, e.Tags.D())
	}
	if rulesRefs(e.Kind) {
		b.gone = append(b.gone, e)
	}
}

// back takes an event out of what left that is stored once more.
func (b *Batch) back(e *nostr.Event) {
	if len(b.gone) == 0 || !rulesRefs(e.Kind) {
		return
	}
	b.gone = slices.DeleteFunc(b.gone, func(g *nostr.Event) bool { return g.ID == e.ID })
}

// Gone are the announcements, states, pull requests and their updates (kinds 30617, 30618, 1618 and 1619) that were served and
// are no more, and no newer version is served in their place: those that left in this batch since the last call, in the
// order in which they did.
func (b *Batch) Gone() []*nostr.Event {
	gone := b.gone
	b.gone = nil
	return gone
}

// LostRepositories are the d tags of the announcements that left their address without a newer version in this batch,
// since the last call. Whoever was invited by one of them may be welcome no more.
func (b *Batch) LostRepositories() []string {
	lost := b.lost
	b.lost = nil
	return lost
}
