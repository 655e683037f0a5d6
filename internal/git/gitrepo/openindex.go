package gitrepo

import (
	"errors"
	"io/fs"
)

// openIndexes opens the indexes of packs, all or none.
func (d *directory) openIndexes(dir string, names []string) (packs []*index, err error) {
	for _, name := range names {
		x, err := d.openIndex(dir + "/" + name + ".idx")
		if err != nil {
			for _, x := range packs {
				err = errors.Join(err, x.file.Close())
			}
			return nil, err
		}
		packs = append(packs, x)
	}
	return packs, nil
}

// openIndex opens the index of a pack.
func (d *directory) openIndex(name string) (*index, error) {
	d.reads(name)
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	var info fs.FileInfo
	if info, err = f.Stat(); err == nil {
		var x *index
		if x, err = openIndex(f, info.Size()); err == nil {
			return x, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}
