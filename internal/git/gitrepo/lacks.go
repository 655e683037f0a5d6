package gitrepo

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// lacks returns those of ids that are not in the repository's packs, in their order. The caller makes sure that no object goes meanwhile.
func (p *packs) lacks(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if repo.IsZero() || len(ids) == 0 {
		return slices.Clone(ids), nil
	}
	missing, err := p.absent(repo, sums(ids))
	if err != nil {
		return nil, err
	}
	return amongSums(ids, missing), nil
}

// amongSums returns those of ids, in their order, that are among sums, which are sorted, and longer ids, which no sum is of.
func amongSums(ids []gitwire.ObjectID, sums []sum) (out []gitwire.ObjectID) {
	if len(sums) == 0 {
		return nil
	}
	for _, id := range ids {
		s, ok := sumOf(id)
		if _, among := slices.BinarySearchFunc(sums, s, sum.compare); among || !ok {
			out = append(out, id)
		}
	}
	return out
}

// absent returns those of sums that are not in the repository's packs. sums are sorted.
func (p *packs) absent(repo ID, sums []sum) (missing []sum, err error) {
	if repo.IsZero() {
		return sums, nil
	}
	if p.depot != nil {
		names, err := p.names(repo)
		if err != nil {
			return nil, err
		}
		return p.absentAmong(repo, names, sums)
	}
	err = p.indexes.use(repo, func(set *packSet) (err error) {
		missing, err = set.rest(sums)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", repo, err)
	}
	return missing, nil
}

// sumOf returns the bytes of an id; false for a longer id, as no pack here has one.
func sumOf(id gitwire.ObjectID) (s sum, ok bool) {
	var buf [2 * len(s)]byte
	raw := id.AppendRaw(buf[:0])
	ok = len(raw) == len(s)
	if ok {
		copy(s[:], raw)
	}
	return s, ok
}

// sums are the bytes of ids, sorted.
func sums(ids []gitwire.ObjectID) []sum {
	out := make([]sum, 0, len(ids))
	for _, id := range ids {
		if s, ok := sumOf(id); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, sum.compare)
	return out
}
