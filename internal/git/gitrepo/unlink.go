package gitrepo

import (
	"slices"
	"strings"
)

// unlinkGone removes the files that no reader needs, also those that a kill left. The caller holds the repository's lock.
func (l *inUse) unlinkGone(repo ID, r *repository) error {
	files, more := l.unneeded(r)
	if err := l.packs.dir.removeFiles(files...); err != nil {
		return err
	}
	if more {
		return nil
	}
	packs, err := l.packs.gone(repo)
	if err != nil || len(packs) == 0 {
		return err
	}
	left, err := l.packs.files(repo, packs)
	if err != nil {
		return err
	}
	if err := l.packs.dir.removeFiles(left...); err != nil {
		return err
	}
	if err := l.packs.dir.sync(repo.path() + "/objects/pack"); err != nil {
		return err
	}
	return l.packs.setGone(repo, nil)
}

// rescue keeps a pack that was to be removed: it belongs to the repository again.
func (l *inUse) rescue(repo ID, r *repository, pack string) error {
	packs, err := l.packs.gone(repo)
	listed := slices.Contains(packs, pack)
	if err != nil || !listed && l.packs.depot == nil {
		return err
	}
	l.keep(r, func(file string) bool { return strings.HasPrefix(file, repo.path()+"/objects/pack/"+pack+".") })
	if !listed {
		return nil
	}
	return l.packs.setGone(repo, slices.DeleteFunc(packs, func(name string) bool { return name == pack }))
}
