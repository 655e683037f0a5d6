package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Each calls do for each repository that has a directory, and returns the first error of do.
func (d *Disk) Each(ctx context.Context, do func(ID) error) error {
	return d.dir.eachRepository(ctx, do)
}

// Refs reads the refs from the files of a repository. Refs returns none where there are no files.
func (d *Disk) Refs(repo ID) (*gitwire.Refs, error) {
	refs, err := d.dir.readRefs(repo)
	if err != nil {
		return nil, fmt.Errorf("refs of repository %s: %w", repo, err)
	}
	return refs, nil
}

// readRefs reads packed-refs; no refs where the file is missing.
func (d *directory) readRefs(repo ID) (*gitwire.Refs, error) {
	packed, err := d.root.ReadFile(repo.path() + "/packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return &gitwire.Refs{}, nil
	}
	if err != nil {
		return nil, err
	}
	refs := &gitwire.Refs{}
	for line := range bytes.Lines(packed) {
		line = trimLine(line)
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		peeled, isPeeled := bytes.CutPrefix(line, []byte("^"))
		hex, name, _ := bytes.Cut(peeled, []byte(" "))
		id, err := gitwire.ParseObjectID(hex)
		if err != nil || isPeeled && len(refs.List) == 0 {
			return nil, fmt.Errorf("packed-refs has a line %.100q", line)
		}
		if isPeeled {
			refs.List[len(refs.List)-1].Peeled = id
		} else {
			refs.List = append(refs.List, gitwire.Ref{Name: string(name), ID: id})
		}
	}
	return refs, CheckRefs(refs)
}
