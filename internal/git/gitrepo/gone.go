package gitrepo

import (
	"errors"
	"io/fs"
	"strings"
)

// goneFile names the packs that the repository has given up and that only earlier readers still use. The file is replaced at once, so
// a kill never leaves objects without what they lead to: either all of the old packs count, or none.
func goneFile(repo ID) string { return repo.path() + "/gone" }

// gone returns the packs that the repository has given up.
func (p *packs) gone(repo ID) ([]string, error) {
	p.dir.reads(goneFile(repo))
	b, err := p.dir.root.ReadFile(goneFile(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// setGone writes, durably, which packs the repository has given up. The caller holds the repository's lock.
func (p *packs) setGone(repo ID, packs []string) error {
	defer p.drop(repo)
	var err error
	if len(packs) == 0 {
		err = p.dir.removeFiles(goneFile(repo))
	} else {
		err = p.dir.replace(goneFile(repo), []byte(strings.Join(packs, "\n")+"\n"))
	}
	if err != nil {
		return err
	}
	return p.dir.sync(repo.path())
}
