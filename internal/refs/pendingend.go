package refs

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/nip34"
)

// Found is an upload that holds the tip of an event that has come: what the tip reaches is to be taken into the repository.
type Found struct {
	Upload uint64
	Of     nip34.Address
}

// Come tells of a pull request that is accepted. Of the uploads that waited for it those are found that have its tip for a
// repository that it names; its name is free everywhere. gone are uploads that wait for nothing any more: when what is
// found is taken, they go. Pushes that are under way are judged again at their end, and stay.
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

// Next is when Expire will have something to do, 0 for never as things stand.
func (p *Pending) Next() (at int64) {
	if p == nil {
		return 0
	}
	for _, u := range p.uploads {
		if u.until != 0 && (at == 0 || u.until < at) {
			at = u.until
		}
	}
	return at
}
