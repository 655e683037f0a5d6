package gitrepo

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/gitwire"
)

// Missing returns those ids that are not in the repository's packs, in their order: all of them, if there is no such repository.
// It reads indexes of packs, starts no process, and may be asked about thousands at once. What is said to be here stays for an
// hour at least.
func (d *Disk) Missing(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	d.promises.swap.RLock()
	defer d.promises.swap.RUnlock()
	missing, err := d.lacks(repo, ids)
	if err == nil && len(missing) < len(ids) {
		d.promises.note(repo, without(ids, missing), d.now())
	}
	return missing, err
}

// without returns those of ids that are not missing.
func without(ids, missing []gitwire.ObjectID) []gitwire.ObjectID {
	if len(missing) == 0 {
		return ids
	}
	lacks := make(map[gitwire.ObjectID]bool, len(missing))
	for _, id := range missing {
		lacks[id] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id gitwire.ObjectID) bool { return lacks[id] })
}

// lacks is Missing for whoever is sure that nothing goes meanwhile.
func (d *Disk) lacks(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if repo.IsZero() || len(ids) == 0 {
		return slices.Clone(ids), nil
	}
	missing, err := d.absent(repo, sums(ids))
	if err != nil {
		return nil, err
	}
	if len(missing) == 0 {
		return nil, nil
	}
	var out []gitwire.ObjectID
	for _, id := range ids {
		s, ok := sumOf(id)
		if ok {
			_, ok = slices.BinarySearchFunc(missing, s, sum.compare)
			ok = !ok
		}
		if !ok {
			out = append(out, id)
		}
	}
	return out, nil
}

// absent returns those of sums, which are sorted, that are not in the repository's packs.
func (d *Disk) absent(repo ID, sums []sum) (missing []sum, err error) {
	if repo.IsZero() {
		return sums, nil
	}
	err = d.indexes.use(repo, func(set *packSet) (err error) {
		missing, err = set.rest(sums)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", repo, err)
	}
	return missing, nil
}

// sumOf is the bytes of an id; there are none of a longer one, which no pack here has.
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

// load opens the indexes of all packs of a repository.
func (d *Disk) load(repo ID) ([]*index, error) {
	names, err := d.packsOf(repo)
	if err != nil {
		return nil, err
	}
	return d.dir.openIndexes(repo.path()+"/objects/pack", names)
}
