package relaysync

import (
	"errors"
	"slices"

	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

var errOutsider = errors.New("this relay is private, and signs for and compares itself with relays of its members alone")

// met tells the guard what the relay says of itself and who names it, and reports whether it is an outsider.
func (p *peer) met(d nip11.Document, of *want.Want) bool {
	if g := p.engine.cfg.Guard; g != nil {
		g.Met(p.url, d, func(has func(nostr.PubKey) bool) bool {
			return of != nil && slices.ContainsFunc(of.Repos, func(r *want.RepoWant) bool { return has(r.Owner) })
		})
	}
	return p.outsider()
}

// outsider reports whether this relay is private, and the other one is no member's.
func (p *peer) outsider() bool {
	g := p.engine.cfg.Guard
	return g != nil && !g.Trusts(p.url)
}
