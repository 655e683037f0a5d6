package hosting

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
)

// forgottenAtOnce is how many rows go in one commit of Alone.
const forgottenAtOnce = 10_000

// Alone takes all that an object store has of packs out of a store, whose directory of git data is whole: which packs the repositories have is what
// that has from now on. Commits that wait for their events are not in the directory, and are forgotten.
func Alone(ctx context.Context, s *store.Store) error {
	for _, prefix := range []string{refdb.ManifestPrefix, refdb.RemovedPrefix, refdb.TrashPrefix, refdb.UploadPrefix} {
		names, err := someRows(s, prefix)
		for ; err == nil && len(names) > 0; names, err = someRows(s, prefix) {
			err := store.Update(s, func(b *store.Batch) (err error) {
				for _, name := range names {
					err = errors.Join(err, b.SetRow(name, nil))
				}
				return err
			})
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// someRows returns the names of the first rows that begin so.
func someRows(s *store.Store, prefix string) (names []string, err error) {
	v := s.View()
	defer v.Close()
	err = v.EachRow(prefix, "", func(name string, _ []byte) (bool, error) {
		names = append(names, name)
		return len(names) < forgottenAtOnce, nil
	})
	return names, err
}
