package gitrepo

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// lastRefChange returns the last moment at which other refs than these may have been those of the repository; the zero time where it had none.
func (m *maintenance) lastRefChange(refs *gitwire.Refs) (time.Time, error) {
	packed, _, err := files(0, refs)
	if err != nil {
		return time.Time{}, err
	}
	name := m.repo.path() + "/packed-refs"
	was, err := m.d.dir.root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil || !bytes.Equal(withoutGeneration(was), packed) {
		return m.d.now(), err
	}
	info, err := m.d.dir.root.Stat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// renew makes packs as young as that time: git takes the age of a pack for that of the objects in it to which nothing leads any more. Of
// those to which nothing led when packs were combined the last time, git knows the age.
func (m *maintenance) renew(files []string, led time.Time) error {
	for _, file := range files {
		if !strings.HasSuffix(file, ".pack") {
			continue
		}
		info, err := m.d.dir.root.Stat(file)
		if err == nil && info.ModTime().Before(led) {
			err = m.d.dir.root.Chtimes(file, led, led)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
