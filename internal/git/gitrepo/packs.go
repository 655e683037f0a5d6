package gitrepo

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// packs knows which packs the repositories have, and which objects are in them.
type packs struct {
	dir     *directory
	depot   Depot // nil: the directories say which packs there are
	indexes *indexes
}

// newPacks keeps at most so many files of indexes open.
func newPacks(dir *directory, depot Depot, most int) *packs {
	p := &packs{dir: dir, depot: depot}
	p.indexes = newIndexes(most, p.load)
	return p
}

// names returns the names of the repository's packs. Which packs are gone is read first: the packs in their place are there by then.
func (p *packs) names(repo ID) ([]string, error) {
	if p.depot != nil {
		m, err := p.depot.Manifest(repo)
		return manifestNames(m), err
	}
	old, err := p.gone(repo)
	if err != nil {
		return nil, err
	}
	entries, err := p.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(packNames(entries), func(name string) bool { return slices.Contains(old, name) }), nil
}

// known reports whether a repository has a directory, or has packs in a depot that come with the directory for whoever reads them.
func (p *packs) known(repo ID) (bool, error) {
	there, err := p.dir.exists(repo)
	if err != nil || there || p.depot == nil || repo.IsZero() {
		return there, err
	}
	m, err := p.depot.Manifest(repo)
	return len(m) > 0, err
}

// files returns the files of some packs, as far as they are there.
func (p *packs) files(repo ID, packs []string) (files []string, err error) {
	dir := repo.path() + "/objects/pack"
	entries, err := p.dir.list(dir)
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); slices.Contains(packs, name) {
			files = append(files, dir+"/"+e.Name())
		}
	}
	return files, err
}

// eachFile calls do with each file in the directory of packs, but for files of packs that the repository has given up.
func (p *packs) eachFile(repo ID, do func(dir, name string) error) error {
	dir := repo.path() + "/objects/pack"
	gone, err := p.gone(repo) // first, as in names
	if err != nil {
		return err
	}
	entries, err := p.dir.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); slices.Contains(gone, name) {
			continue
		}
		if err := do(dir, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// load opens the indexes of all packs of a repository; none where it is removed meanwhile.
func (p *packs) load(repo ID) ([]*index, error) {
	names, err := p.indexed(repo)
	if err != nil {
		return nil, err
	}
	open, err := p.dir.openIndexes(repo.path()+"/objects/pack", names)
	if errors.Is(err, fs.ErrNotExist) {
		if there, e := p.dir.exists(repo); e == nil && !there {
			return nil, nil
		}
	}
	return open, err
}

// indexed returns the names of the packs whose indexes are opened: where a depot says which packs there are, of all in the directory.
func (p *packs) indexed(repo ID) (names []string, err error) {
	if p.depot == nil {
		return p.names(repo)
	}
	entries, err := p.dir.list(repo.path() + "/objects/pack")
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// drop forgets the indexes of a repository whose packs have changed.
func (p *packs) drop(repo ID) { p.indexes.drop(repo) }

// close closes the indexes that are open.
func (p *packs) close() error { return p.indexes.close() }
