package refs

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/nip34"
)

// Found is an upload that has the tip of an event that came: the repository is to admit what the tip reaches.
type Found struct {
	Upload uint64
	Of     nip34.Address
}

// Come hears of a pull request that is accepted, whose name is free everywhere from then on. found are the uploads that have its tip for a
// repository that it names. gone are the uploads that wait for nothing any more: they are dropped once what was found is admitted. Pushes
// under way stay, as they are judged again at their end.
func (p *Pending) Come(pr PullRequest) (found []Found, gone []uint64) {
	if p == nil {
		return nil, nil
	}
	for _, n := range slices.Clone(p.events[pr.ID]) {
		u := p.uploads[n]
		if u.until == 0 {
			continue
		}
		if u.tip(pr.ID) == pr.Tip && pr.Names(u.of) {
			found = append(found, Found{n, u.of})
		}
		p.remove(n, pr.ID)
		if len(u.tips) == 0 {
			p.Drop(n)
			gone = append(gone, n)
		}
	}
	return found, gone
}

// Expire drops the uploads whose time is over and gives their numbers.
func (p *Pending) Expire(now int64) (gone []uint64) {
	if p == nil {
		return nil
	}
	for n, u := range p.uploads {
		if u.until != 0 && u.until <= now {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, cmp.Compare[uint64])
	for _, n := range gone {
		p.Drop(n)
	}
	return gone
}
