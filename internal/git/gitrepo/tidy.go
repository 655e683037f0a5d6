package gitrepo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/refdb"
)

// Tidy takes off this disk the packs in a repository's directory that are not in its manifest, when nobody reads them any more. It is for a disk to
// which packs come from the depot alone: elsewhere, what no manifest has may be on its way into one.
func (l *Local) Tidy(repo ID) error {
	err := l.takeStrays(repo)
	if err == nil {
		err = l.weigh(repo)
	}
	if err != nil {
		return fmt.Errorf("tidying packs of repository %s: %w", repo, err)
	}
	return nil
}

func (l *Local) takeStrays(repo ID) error {
	d := l.d
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	m, err := d.depot.Manifest(repo)
	if err != nil {
		return err
	}
	dir := repo.path() + "/objects/pack"
	entries, err := d.dir.list(dir)
	if err != nil {
		return err
	}
	leaving := d.inUse.leaving(r)
	var strays, over []string // over: an index over several packs, which may name some that go
	for _, e := range entries {
		file := dir + "/" + e.Name()
		pack, _, _ := strings.Cut(e.Name(), ".")
		n, bad := refdb.ParsePackName(pack)
		_, known := m.Find(n)
		switch {
		case strings.HasPrefix(e.Name(), midx):
			over = append(over, file)
		case bad == nil && !known && !slices.Contains(leaving, file):
			strays = append(strays, file)
		}
	}
	if len(strays) == 0 {
		return nil
	}
	if err := d.dir.removeFiles(over...); err != nil {
		return err
	}
	defer d.packs.drop(repo)
	d.inUse.retire(r, strays)
	return d.inUse.unlinkGone(repo, r)
}
