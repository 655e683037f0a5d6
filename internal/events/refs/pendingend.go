package refs

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Found is an upload that has the tip of an event which has come. The caller admits to the repository what the tip leads to.
type Found struct {
	Upload uint64
	Of     nip34.Address
}

// Come ends the wait of uploads for a pull request that the relay accepted. Come returns in found the uploads that have the tip, for each
// repository that the pull request names, and in gone those that wait for nothing any more. The caller first admits what was found, and
// then removes the objects of gone. Pushes under way stay, as somebody judges them again at their end.
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

// Expire drops the uploads whose time is over and returns their numbers. The caller removes their objects.
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
