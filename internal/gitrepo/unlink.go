package gitrepo

import (
	"slices"
	"strings"
)

// unlinkGone removes the files that no reader needs, and what a kill left of such. The repository is locked.
func (d *Disk) unlinkGone(repo ID, r *repository) error {
	files, more := d.live.unneeded(r)
	if err := d.dir.removeFiles(files...); err != nil {
		return err
	}
	if more {
		return nil
	}
	packs, err := d.packs.gone(repo)
	if err != nil || len(packs) == 0 {
		return err
	}
	left, err := d.packs.files(repo, packs)
	if err != nil {
		return err
	}
	if err := d.dir.removeFiles(left...); err != nil {
		return err
	}
	if err := d.dir.sync(repo.path() + "/objects/pack"); err != nil {
		return err
	}
	return d.packs.setGone(repo, nil)
}

// rescue makes a pack the repository's again that was to go.
func (d *Disk) rescue(repo ID, r *repository, pack string) error {
	packs, err := d.packs.gone(repo)
	if err != nil || !slices.Contains(packs, pack) {
		return err
	}
	d.live.rescue(r, func(file string) bool { return strings.HasPrefix(file, repo.path()+"/objects/pack/"+pack+".") })
	return d.packs.setGone(repo, slices.DeleteFunc(packs, func(name string) bool { return name == pack }))
}
