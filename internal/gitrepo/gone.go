package gitrepo

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// gone is the file that names packs which are no longer the repository's, but for readers that began before. As it changes at
// once, a kill never leaves objects without what they lead to: either all of the old packs count, or none.
func gone(repo ID) string { return repo.path() + "/gone" }

// gonePacks are the packs that are no longer the repository's.
func (d *Disk) gonePacks(repo ID) ([]string, error) {
	b, err := d.dir.root.ReadFile(gone(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// setGone writes which packs are no longer the repository's. The repository is locked.
func (d *Disk) setGone(repo ID, packs []string) error {
	defer d.indexes.drop(repo)
	if len(packs) == 0 {
		return d.dir.removeFiles(gone(repo))
	}
	if err := d.dir.replace(gone(repo), []byte(strings.Join(packs, "\n")+"\n")); err != nil {
		return err
	}
	return d.dir.sync(repo.path())
}

// packsOf are the names of the packs that are the repository's.
func (d *Disk) packsOf(repo ID) ([]string, error) {
	entries, err := d.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return nil, err
	}
	old, err := d.gonePacks(repo)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(packNames(entries), func(name string) bool { return slices.Contains(old, name) }), nil
}

// unlinkGone removes the files that no reader needs, and what a kill left of such. The repository is locked.
func (d *Disk) unlinkGone(repo ID, r *repository) error {
	files, more := d.live.unneeded(r)
	if err := d.dir.removeFiles(files...); err != nil {
		return err
	}
	if more {
		return nil
	}
	packs, err := d.gonePacks(repo)
	if err != nil || len(packs) == 0 {
		return err
	}
	left, err := d.filesOf(repo, packs)
	if err != nil {
		return err
	}
	if err := d.dir.removeFiles(left...); err != nil {
		return err
	}
	if err := d.dir.sync(repo.path() + "/objects/pack"); err != nil {
		return err
	}
	return d.setGone(repo, nil)
}

// filesOf are the files of packs that are there.
func (d *Disk) filesOf(repo ID, packs []string) (files []string, err error) {
	dir := repo.path() + "/objects/pack"
	entries, err := d.dir.list(dir)
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); slices.Contains(packs, name) {
			files = append(files, dir+"/"+e.Name())
		}
	}
	return files, err
}

// rescue makes a pack the repository's again that was to go.
func (d *Disk) rescue(repo ID, r *repository, pack string) error {
	packs, err := d.gonePacks(repo)
	if err != nil || !slices.Contains(packs, pack) {
		return err
	}
	d.live.rescue(r, func(file string) bool { return strings.HasPrefix(file, repo.path()+"/objects/pack/"+pack+".") })
	return d.setGone(repo, slices.DeleteFunc(packs, func(name string) bool { return name == pack }))
}
