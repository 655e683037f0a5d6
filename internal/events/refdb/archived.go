package refdb

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Archived reports whether a repository is here only because it is archived: no announcement of its owner's lists this service. If so, it
// also returns where else people may push to the repository, as far as its announcements say.
func (r *Reader) Archived(of nip34.Address) (is bool, elsewhere []grasp.Source, err error) {
	own, err := announcementsOf(r, of)
	if err != nil || len(own) == 0 || slices.ContainsFunc(own, r.service.Lists) {
		return false, nil, err
	}
	for _, a := range own {
		for _, s := range r.service.Sources(a, a.Clone, sourcesOf) {
			if !slices.Contains(elsewhere, s) {
				elsewhere = append(elsewhere, s)
			}
		}
	}
	return true, elsewhere, nil
}
