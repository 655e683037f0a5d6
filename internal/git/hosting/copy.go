package hosting

import (
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// RefsAsOf sets the files of refs in a copy of all repositories back to what the copy of the store says, where refs have moved since. copied is
// the copy of the store, which was made before that of the repositories. Files are of the generation that they tell, so those that are older are written by the first start that needs them.
func RefsAsOf(copied, now *store.Store, disk gitrepo.Repositories) error {
	v, later := copied.View(), now.View()
	defer v.Close()
	defer later.Close()
	return v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		then, dir, err := refdb.Head(row)
		if err != nil || dir.IsZero() {
			return true, err
		}
		b, err := later.Row(name)
		if err != nil || b == nil { // the repository has gone since copied was made
			return true, err
		}
		if g, same, err := refdb.Head(b); err != nil || g == then && same == dir {
			return true, err
		}
		r, err := refdb.Parse(row)
		if err != nil {
			return false, err
		}
		if err := disk.Project(gitrepo.ID(dir), then, r.Shown()); err != nil && !errors.Is(err, gitrepo.ErrNoRepository) {
			return false, fmt.Errorf("refs of %s as they were: %w", r.Of, err)
		}
		return true, nil
	})
}
