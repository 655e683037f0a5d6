package hosting

import (
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/gitrepo"
	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/store"
)

// RefsAsOf writes the files of refs in a copy of all repositories as the copy of the store says that was made before it, where they
// have moved since. Files that were due then still are, by that copy.
func RefsAsOf(copied, now *store.Store, disk gitrepo.Repositories) error {
	v, later := copied.View(), now.View()
	defer v.Close()
	defer later.Close()
	return v.EachRow(ledger.Prefix, "", func(name string, row []byte) (bool, error) {
		then, dir, err := ledger.Head(row)
		if err != nil || dir.IsZero() {
			return true, err
		}
		b, err := later.Row(name)
		if err != nil || b == nil { // the repository has gone since the copy of the store
			return true, err
		}
		if g, same, err := ledger.Head(b); err != nil || g == then && same == dir {
			return true, err
		}
		r, err := ledger.Parse(row)
		if err != nil {
			return false, err
		}
		if err := disk.Project(gitrepo.ID(dir), r.Shown()); err != nil && !errors.Is(err, gitrepo.ErrNoRepository) {
			return false, fmt.Errorf("refs of %s as they were: %w", r.Of, err)
		}
		return true, nil
	})
}
