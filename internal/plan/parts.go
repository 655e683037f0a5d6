package plan

import (
	"slices"

	"github.com/graspd/graspd/internal/want"
)

// Details is what is costly to tell of a relay: in proportion to all that is wanted of it.
type Details struct {
	Parts []Part
	Gaps  []Gap // the newest, the last one last
}

// Part is how a peer stands with one repository.
type Part struct {
	Address   string // of the owner's announcement
	Relay     want.URL
	Roots     int    // root events wanted
	Confirmed int    // of the repository and its root events, how many are known to be complete here
	Held      uint64 // events that are here, as of the last full catch-up; 0 = not known
	Lacks     uint64 // of these, how many the relay lacks
}

// Complete says whether all that is wanted is known to be here.
func (x Part) Complete() bool { return x.Confirmed == 1+x.Roots }

// Details tells what Status does not.
func (p *Peer) Details() Details { return Details{p.Parts(), slices.Clone(p.gaps.last)} }

// Parts describes every repository that is wanted of the relay.
func (p *Peer) Parts() []Part {
	if p.want == nil {
		return nil
	}
	out := make([]Part, 0, len(p.want.Repos))
	for _, r := range p.want.Repos {
		x := Part{Address: p.want.Repository(r.Item).Addresses[0], Relay: p.cfg.URL, Roots: r.Roots()}
		if p.has(r.Item) {
			x.Confirmed++
		}
		r.EachRoot(func(it want.Item) {
			if p.has(it) {
				x.Confirmed++
			}
		})
		if p.comparing.tells() {
			s := p.coverage.Of(r.Ord)
			x.Held, x.Lacks = s.Here, s.Lacks
		}
		out = append(out, x)
	}
	return out
}
