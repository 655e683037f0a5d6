package gitrepo

import (
	"errors"
	"io/fs"
)

// combinedFile is as old as the last time at which all packs of the repository were combined, and what refs had not led to for long enough
// went with that.
func combinedFile(repo ID) string { return repo.path() + "/combined" }

// due reports whether the packs of a repository have to be combined for its refs alone: something that these led to may have to go. That is
// so every two weeks, until the refs have not moved for as long before the last time. The first question begins the two weeks.
func (d *Disk) due(repo ID) (bool, error) {
	moved, err := d.dir.root.Stat(repo.path() + "/packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last, err := d.dir.root.Stat(combinedFile(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return false, d.combinedNow(repo)
	}
	if err != nil {
		return false, err
	}
	at := last.ModTime()
	return d.now().Sub(at) >= kept && moved.ModTime().After(at.Add(-kept)), nil
}

// combinedNow begins two weeks anew. The caller holds the repository's lock.
func (d *Disk) combinedNow(repo ID) error {
	now := d.now()
	if err := d.dir.replace(combinedFile(repo), nil); err != nil {
		return err
	}
	return d.dir.root.Chtimes(combinedFile(repo), now, now)
}
