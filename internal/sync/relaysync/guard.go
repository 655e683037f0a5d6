package relaysync

import (
	"errors"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/want"
)

var errOutsider = errors.New("this relay is private, and signs for and compares itself with relays of its members alone")

// met tells the guard the relay's document and the owners whose repositories name the relay. It reports whether the relay is an outsider.
func (p *shell) met(d nip11.Document, of *want.Want) bool {
	if g := p.engine.cfg.Guard; g != nil {
		var owners []nostr.PubKey
		if of != nil {
			for _, r := range of.Repos {
				owners = append(owners, r.Owner)
			}
		}
		g.Met(p.url, d, owners)
	}
	return p.outsider()
}

// shows reports whether an effect shows the relay which events are here: by a comparison, or by asking for events that belong to them.
func shows(e peer.Effect) bool {
	switch e.(type) {
	case peer.Survey, peer.OpenNeg, peer.ContinueNeg:
		return true
	}
	return false
}

// outsider reports whether this relay is private, and the remote relay is no member's.
func (p *shell) outsider() bool {
	g := p.engine.cfg.Guard
	return g != nil && !g.Trusts(p.url)
}
