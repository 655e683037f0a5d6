package gitrepo

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Missing returns those ids that are not in the repository's packs, in their order: all of them, if there is no such repository. Missing
// reads indexes of packs and starts no process, so a caller may ask about thousands at once. An object that Missing does not return stays
// for an hour at least.
func (d *Disk) Missing(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	d.confirmed.swap.RLock()
	defer d.confirmed.swap.RUnlock()
	missing, err := d.packs.lacks(repo, ids)
	if err == nil && len(missing) < len(ids) {
		d.confirmed.note(repo, without(ids, missing), d.now())
	}
	return missing, err
}

// Lacks is Missing for who acts at once: an object that Lacks does not return may go the next moment.
func (d *Disk) Lacks(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	return d.packs.lacks(repo, ids)
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
