package peer

import (
	"fmt"

	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/want"
)

// checkFigures compares what is kept for the status with a walk through all that is wanted.
func (p *Peer) checkFigures() error {
	if p.want == nil {
		if share, lacking := p.coverage.Total(); share != (coverage.Count{}) || lacking+p.confirmed.Repos.Len()+p.held.Repos.Len() > 0 {
			return fmt.Errorf("figures of nothing: %+v, %d", share, lacking)
		}
		return nil
	}
	var covers coverage.Count
	repos, lacks := 0, 0
	for _, r := range p.want.Repos {
		if p.known(r.Item) {
			repos++
		}
		s := p.coverage.Of(r.Ord)
		covers.Here += s.Here
		covers.Lacks += s.Lacks
		if s.Lacks > 0 {
			lacks++
		}
	}
	if n, _ := p.confirmedCount(); n.Repositories != repos {
		return fmt.Errorf("%d repositories count as confirmed, and %d are", n.Repositories, repos)
	}
	if share, lacking := p.coverage.Total(); covers != share || lacks != lacking {
		return fmt.Errorf("coverage is %+v of %d, kept %+v of %d", covers, lacks, share, lacking)
	}
	return nil
}

// Blind takes away all that a walk through what is wanted would look at.
func (p *Peer) Blind() {
	w := &want.Want{Bootstrap: p.want.Bootstrap, Owners: p.want.Owners, Repos: make([]*want.RepoWant, len(p.want.Repos))}
	p.want = w
}
