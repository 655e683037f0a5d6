package gitrepo

import (
	"errors"
	"io/fs"
	"os"
)

// mostOpen is how many indexes of one repository stay open. Before maintenance combines them, a repository may have any number.
const mostOpen = 64

// openIndexes opens the indexes of packs, all or none. Those beyond mostOpen are opened again for each look-up.
func (d *directory) openIndexes(dir string, names []string) (packs []*index, err error) {
	for _, name := range names {
		x, err := d.openIndex(dir + "/" + name + ".idx")
		if err != nil {
			for _, x := range packs {
				err = errors.Join(err, x.file.Close())
			}
			return nil, err
		}
		if x.name = name; len(packs) >= mostOpen {
			_ = x.file.Close() // a file that was only read
			x.file = reopened{d, dir + "/" + name + ".idx"}
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

// reopened is a file that is open only while it is read.
type reopened struct {
	dir  *directory
	name string
}

func (r reopened) open() (*os.File, error) {
	r.dir.reads(r.name)
	return r.dir.root.Open(r.name)
}

func (r reopened) ReadAt(b []byte, at int64) (n int, err error) {
	f, err := r.open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.ReadAt(b, at)
}

func (reopened) Close() error { return nil }
