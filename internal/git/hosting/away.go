package hosting

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// Away returns how many repositories have packs, by their manifests, that are not whole on a disk, and how many bytes it lacks of these. A disk of
// nil has none.
func Away(s *store.Store, disk *gitrepo.Disk) (repositories int, bytes int64, err error) {
	err = eachManifest(s, func(r refdb.Repository, m refdb.Manifest) (err error) {
		n := m.Bytes()
		if disk != nil {
			n, err = disk.Away(gitrepo.ID(r.Dir), m)
		}
		if n > 0 {
			repositories, bytes = repositories+1, bytes+n
		}
		return err
	})
	return repositories, bytes, err
}

// Copied fails where a copy of the disk lacks a repository that has packs and that a copy of the store knows: its directory was removed here.
func (k *Kept) Copied(copied, now *store.Store, to *gitrepo.Disk) error {
	v := now.View()
	defer v.Close()
	return eachManifest(copied, func(r refdb.Repository, _ refdb.Manifest) error {
		m, err := refdb.ReadManifest(v, r.Dir)
		if err != nil || len(m) == 0 { // removed since
			return err
		}
		if _, packs, err := to.Size(gitrepo.ID(r.Dir)); err != nil || packs > 0 {
			return err
		}
		return fmt.Errorf("the directory of repository %s is gone from this disk: it comes again with the next clone, or the next start", r.Of)
	})
}

// eachManifest calls do with each repository that has a manifest.
func eachManifest(s *store.Store, do func(refdb.Repository, refdb.Manifest) error) error {
	v := s.View()
	defer v.Close()
	return v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		r, err := refdb.Brief(row)
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		m, err := refdb.ReadManifest(v, r.Dir)
		if err == nil && len(m) > 0 {
			err = do(r, m)
		}
		return true, err
	})
}
