package peer

import (
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/want"
)

// Details tells what Status does not.
func (p *Peer) Details() status.Details { return status.Details{Parts: p.parts(), Gaps: p.gaps.Last()} }

// parts describes every repository that is wanted of the relay.
func (p *Peer) parts() []status.Part {
	if p.want == nil {
		return nil
	}
	out := make([]status.Part, 0, len(p.want.Repos))
	for _, r := range p.want.Repos {
		repository := p.want.Repository(r.Item)
		x := status.Part{Address: repository.Addresses[0], Roots: r.Roots()}
		if p.known(r.Item) && !repository.Claimed {
			x.Confirmed++
		}
		r.EachRoot(func(it want.Item) {
			if p.known(it) {
				x.Confirmed++
			}
		})
		if p.comparing.tells() {
			s := p.coverage.Of(r.Ord)
			x.Here, x.Lacks = s.Here, s.Lacks
		}
		out = append(out, x)
	}
	return out
}
