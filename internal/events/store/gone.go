package store

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rulesRefs reports whether events of the kind say what the refs of a repository are, or whose it is.
func rulesRefs(k nostr.Kind) bool {
	switch k {
	case nip34.KindRepository, nip34.KindState, nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		return true
	}
	return false
}

// departed is the part of a batch that notes which events left without a newer version, until the ledger asks.
type departed struct {
	lost []string       // d of the announcements, for LostRepositories
	gone []*nostr.Event // for Gone
}

// left notes an event that left, and no newer version has taken its address.
func (d *departed) left(e *nostr.Event) {
	if e.Kind == nip34.KindRepository {
		d.lost = append(d.lost, e.Tags.D())
	}
	if rulesRefs(e.Kind) {
		d.gone = append(d.gone, e)
	}
}

// back takes an event that is stored again out of those that left.
func (d *departed) back(e *nostr.Event) {
	if len(d.gone) == 0 || !rulesRefs(e.Kind) {
		return
	}
	d.gone = slices.DeleteFunc(d.gone, func(g *nostr.Event) bool { return g.ID == e.ID })
}

// Gone returns the announcements, states, pull requests and their updates (kinds 30617, 30618, 1618 and 1619) that were served, have left
// in this batch since the last call, and have no newer version in their place. The events are in the order in which they left.
func (d *departed) Gone() []*nostr.Event {
	gone := d.gone
	d.gone = nil
	return gone
}

// LostRepositories returns the d tags of the announcements that left their address without a newer version in this batch, since the last
// call. People whom one of them invited may no longer be welcome.
func (d *departed) LostRepositories() []string {
	lost := d.lost
	d.lost = nil
	return lost
}
