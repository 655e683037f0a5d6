package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Project writes packed-refs and HEAD anew and makes them durable. A repository never has loose refs. Project does nothing where the
// repository has no directory.
func (d *Disk) Project(repo ID, refs *gitwire.Refs) error {
	if err := d.writeRefs(repo, refs); err != nil {
		return fmt.Errorf("refs of repository %s: %w", repo, err)
	}
	return nil
}

func (d *Disk) writeRefs(repo ID, refs *gitwire.Refs) error {
	packed, head, err := files(refs)
	if err != nil {
		return err
	}
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	there, err := d.dir.exists(repo)
	if err != nil {
		return err
	}
	if !there && len(refs.List) == 0 {
		return nil
	}
	if !there {
		return ErrNoRepository
	}
	dir := repo.path()
	for _, file := range []struct {
		name    string
		content []byte
	}{{dir + "/packed-refs", packed}, {dir + "/HEAD", head}} {
		old, err := d.dir.root.ReadFile(file.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && bytes.Equal(old, file.content) {
			continue
		}
		if err := d.dir.replace(file.name, file.content); err != nil {
			return err
		}
	}
	return d.dir.sync(dir)
}

// CheckRefs returns an error where one of the refs has a name or an id that git would not take in a file of refs.
func CheckRefs(refs *gitwire.Refs) error {
	last := ""
	for _, ref := range refs.List {
		if err := gitwire.CheckRefName(ref.Name); err != nil {
			return err
		}
		if ref.Name <= last || ref.ID.IsZero() {
			return fmt.Errorf("%s is not in order, or has no value", ref.Name)
		}
		last = ref.Name
	}
	if refs.Head != "" {
		if err := gitwire.CheckRefName(refs.Head); err != nil {
			return fmt.Errorf("HEAD: %w", err)
		}
	}
	return nil
}

// files returns the contents that packed-refs and HEAD should have.
func files(refs *gitwire.Refs) (packed, head []byte, err error) {
	if err := CheckRefs(refs); err != nil {
		return nil, nil, err
	}
	packed = []byte("# pack-refs with: peeled fully-peeled sorted \n")
	for _, ref := range refs.List {
		packed = append(append(append(ref.ID.AppendHex(packed), ' '), ref.Name...), '\n')
		if !ref.Peeled.IsZero() {
			packed = append(ref.Peeled.AppendHex(append(packed, '^')), '\n')
		}
	}
	if refs.Head == "" {
		return packed, []byte(noHead), nil
	}
	return packed, []byte("ref: " + refs.Head + "\n"), nil
}
