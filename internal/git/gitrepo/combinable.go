package gitrepo

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// combinable returns the packs of a repository, and how many of them have objects that something leads to.
func (p *packs) combinable(repo ID) (packs []string, n int, err error) {
	if packs, err = p.names(repo); err != nil {
		return nil, 0, err
	}
	if p.depot != nil {
		m, err := p.depot.Manifest(repo)
		for _, x := range m {
			if !x.Has(".mtimes") {
				n++
			}
		}
		return packs, n, err
	}
	for _, name := range packs {
		_, err := p.dir.root.Stat(repo.path() + "/objects/pack/" + name + ".mtimes")
		if errors.Is(err, fs.ErrNotExist) {
			n++
		} else if err != nil {
			return nil, 0, err
		}
	}
	return packs, n, nil
}

// lacksBitmap reports whether the packs of a repository that needs no other ones are worth a bitmap, and have none: without one every
// clone counts all objects.
func (p *packs) lacksBitmap(repo ID, packs []string, worth int64) (bool, error) {
	if p.depot != nil {
		return p.keptLacksBitmap(repo, worth)
	}
	entries, err := p.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return false, err
	}
	large := false
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".bitmap") {
			return false, nil
		}
		name, isPack := strings.CutSuffix(e.Name(), ".pack")
		if !isPack || !slices.Contains(packs, name) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return false, err
		}
		large = large || info.Size() >= worth
	}
	return large, nil
}

// keptLacksBitmap is lacksBitmap where a depot says which packs there are.
func (p *packs) keptLacksBitmap(repo ID, worth int64) (large bool, err error) {
	m, err := p.depot.Manifest(repo)
	for _, x := range m {
		if x.Has(".bitmap") {
			return false, err
		}
		large = large || x.Files[0].Bytes >= worth
	}
	return large, err
}

// unfinished returns the files of packs that have no index, so that nobody finds them: a kill left them. The caller holds the repository's
// lock, so that none is on its way in.
func (p *packs) unfinished(repo ID) (files []string, err error) {
	entries, err := p.dir.list(repo.path() + "/objects/pack")
	whole := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			whole[name] = true
		}
	}
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); strings.HasPrefix(name, "pack-") && !whole[name] {
			files = append(files, "objects/pack/"+e.Name())
		}
	}
	return files, err
}
