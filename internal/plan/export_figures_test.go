package plan

import (
	"fmt"

	"github.com/graspd/graspd/internal/want"
)

// checkFigures compares what is kept for the status with a walk through all that is wanted.
func (p *Peer) checkFigures() error {
	if p.want == nil {
		if p.covers != (totals{}) || p.confirmed.repos.n+p.held.repos.n > 0 {
			return fmt.Errorf("figures of nothing: %+v", p.covers)
		}
		return nil
	}
	repos, covers := 0, totals{}
	for _, r := range p.want.Repos {
		if p.has(r.Item) {
			repos++
		}
		s := p.coverage.last[r.Ord].sum()
		covers.share = covers.plus(s)
		if s.lacks > 0 {
			covers.lacking++
		}
	}
	if n := p.confirmedCount().Repositories; n != repos {
		return fmt.Errorf("%d repositories count as confirmed, and %d are", n, repos)
	}
	if covers != p.covers {
		return fmt.Errorf("coverage is %+v, kept %+v", covers, p.covers)
	}
	return nil
}

// Blind takes away all that a walk through what is wanted would look at.
func (p *Peer) Blind() {
	w := &want.Want{Bootstrap: p.want.Bootstrap, Owners: p.want.Owners, Repos: make([]*want.RepoWant, len(p.want.Repos))}
	p.want, p.coverage = w, coverage{}
}
