package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// How many repositories are made anew, or brought here whole, at once.
const (
	restoredAtOnce = 16
	wholeAtOnce    = 4
)

// Ready makes the disk such that everything can be decided with it, before anybody decides: the repositories whose packs lie on the disk alone are put
// into the object store, and each gets a manifest; of those whose directories are not here, or not whole, indexes of packs and files of refs come.
// The packs themselves come when somebody reads them. progress hears how many repositories are done; nil is nobody. Where Ready fails, it goes on
// where it was with the next call. wrong says which repositories have lost something; all others are ready all the same.
func (k *Kept) Ready(ctx context.Context, s *store.Store, progress func(done, all int64)) (wrong []error, err error) {
	w := walk{store: s, atOnce: restoredAtOnce, weigh: func(refdb.Repository) int64 { return 1 }, progress: progress}
	a := &adopting{depot: k.Depot, disk: k.disk, store: s}
	return w.each(ctx, func(ctx context.Context, r refdb.Repository) error {
		err := a.one(ctx, r)
		if err != nil && !errors.Is(err, errNowhere) {
			return err
		}
		return errors.Join(err, k.settle(ctx, r))
	})
}

// keep brings this disk in line with what the log says of the packs of a directory: indexes come, and packs go that no manifest has. What lies on this
// disk alone stays.
func (k *Kept) keep(ctx context.Context, s *store.Store, dir refdb.Dir) error {
	v := s.View()
	has, err := v.Row(refdb.ManifestName(dir))
	had, wrong := v.Row(refdb.RemovedName(dir))
	v.Close()
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	if has != nil {
		err = k.Local.Restore(ctx, gitrepo.ID(dir))
	}
	if has != nil || had != nil {
		err = errors.Join(err, k.Local.Tidy(gitrepo.ID(dir)))
	}
	return err
}

// keepAll does keep for all directories of which the log knows packs.
func (k *Kept) keepAll(ctx context.Context, s *store.Store) error {
	var dirs []refdb.Dir
	v := s.View()
	err := errors.Join(eachDir(v, refdb.ManifestPrefix, &dirs), eachDir(v, refdb.RemovedPrefix, &dirs))
	v.Close()
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(restoredAtOnce)
	for _, dir := range dirs {
		if ctx.Err() != nil {
			break
		}
		work.Go(func() error {
			err := k.keep(ctx, s, dir)
			if errors.Is(err, depot.ErrDamaged) { // whoever reads it hears of that; all others are kept
				err = nil
			}
			return err
		})
	}
	return errors.Join(err, work.Wait())
}

// eachDir adds the directories that rows with a prefix are about.
func eachDir(v *store.View, prefix string, dirs *[]refdb.Dir) error {
	return v.EachRow(prefix, "", func(name string, _ []byte) (bool, error) {
		dir, err := refdb.ParseDir(strings.TrimPrefix(name, prefix))
		*dirs = append(*dirs, dir)
		return true, err
	})
}

// Whole brings all packs of all repositories to this disk. progress hears of bytes.
func (k *Kept) Whole(ctx context.Context, s *store.Store, progress func(done, all int64)) (wrong []error, err error) {
	w := walk{store: s, atOnce: wholeAtOnce, weigh: func(r refdb.Repository) int64 { return r.Bytes }, progress: progress}
	return w.each(ctx, func(ctx context.Context, r refdb.Repository) error {
		if err := k.settle(ctx, r); err != nil {
			return err
		}
		if m, err := k.Depot.Manifest(gitrepo.ID(r.Dir)); err != nil || len(m) == 0 && r.Bytes > 0 {
			return cmp.Or(err, errNowhere)
		}
		return k.Local.Bring(ctx, gitrepo.ID(r.Dir), "")
	})
}

// walk is some work on all repositories with data.
type walk struct {
	store    *store.Store
	atOnce   int
	weigh    func(refdb.Repository) int64 // how much of the progress a repository is
	progress func(done, all int64)
}

// each calls do for each repository, with its row as of then. Errors that say that something of a repository is lost are returned beside, and the
// others are done all the same.
func (w walk) each(ctx context.Context, do func(context.Context, refdb.Repository) error) (wrong []error, err error) {
	names, all, err := w.names(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards done and wrong
	var done int64
	work, each := errgroup.WithContext(ctx)
	work.SetLimit(w.atOnce)
	for _, name := range names {
		if each.Err() != nil {
			break
		}
		work.Go(func() error {
			r, err := w.read(name)
			if err == nil && !r.Dir.IsZero() {
				if err = do(each, r); err != nil {
					err = fmt.Errorf("repository %s: %w", r.Of, err)
				}
			}
			lost := errors.Is(err, errNowhere) || errors.Is(err, depot.ErrDamaged)
			if err != nil && !lost {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if lost {
				wrong = append(wrong, err)
			}
			if done += w.weigh(r); w.progress != nil {
				w.progress(done, max(done, all))
			}
			return nil
		})
	}
	if err = work.Wait(); err == nil {
		err = context.Cause(ctx)
	}
	return wrong, err
}

// names returns the rows of the repositories with data, and how much they are together.
func (w walk) names(ctx context.Context) (names []string, all int64, err error) {
	v := w.store.View()
	defer v.Close()
	err = v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		r, err := refdb.Brief(row)
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		if !r.Dir.IsZero() {
			names, all = append(names, name), all+w.weigh(r)
		}
		return true, context.Cause(ctx)
	})
	return names, all, err
}

func (w walk) read(name string) (r refdb.Repository, err error) {
	v := w.store.View()
	defer v.Close()
	row, err := v.Row(name)
	if err == nil && row != nil {
		if r, err = refdb.Parse(row); err != nil {
			err = fmt.Errorf("row %s: %w", name, err)
		}
	}
	return r, err
}
