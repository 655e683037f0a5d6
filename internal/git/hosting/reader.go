package hosting

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Reader reads the repositories that a store has, whoever writes it, with packs and files of refs on this disk. Any number of goroutines may use it.
type Reader struct {
	cfg     Config
	shown   shown
	writing turns // one goroutine at a time writes the files of a repository's refs
}

// NewReader makes a Reader of a Config, of which it needs Store and Disk, and takes Kept, Contributors, Room, Now and Logger.
func NewReader(c Config) *Reader {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Reader{cfg: c}
	r.shown.init()
	return r
}

// AwaitFiles blocks until the files of a repository are of that generation or a later one, or ctx ends.
func (r *Reader) AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error {
	if behind, err := r.behind(of, generation); err != nil || !behind {
		return err
	}
	leave, err := r.writing.enter(ctx, of)
	if err != nil {
		return err
	}
	defer leave()
	x, err := readRow(r.cfg.Store, of)
	if err != nil || x.Dir.IsZero() {
		return err
	}
	return r.write(ctx, x)
}

// behind reports whether the files of a repository are to be written before somebody reads them who was told of a generation. Files that are ahead of
// the store are of another history.
func (r *Reader) behind(of nip34.Address, generation uint64) (bool, error) {
	now, dir, err := headOf(r.cfg.Store, of)
	if err != nil || dir.IsZero() {
		return false, err
	}
	has, err := r.cfg.Disk.Generation(gitrepo.ID(dir))
	return has < min(generation, now) || has > now, err
}

// written returns the generation of a repository's files of refs; 0 where it has none.
func (r *Reader) written(of nip34.Address) (uint64, error) {
	_, dir, err := headOf(r.cfg.Store, of)
	if err != nil || dir.IsZero() {
		return 0, err
	}
	return r.cfg.Disk.Generation(gitrepo.ID(dir))
}

// write writes the files of a repository's refs, unless they are of its generation. Where packs are kept elsewhere it makes the directory first, if
// there is none.
func (r *Reader) write(ctx context.Context, x refdb.Repository) error {
	id := gitrepo.ID(x.Dir)
	has, err := r.cfg.Disk.Generation(id)
	if err != nil || has == x.Refs.Generation {
		return err
	}
	if err := r.cfg.Kept.house(ctx, id); err != nil {
		return err
	}
	if err := r.cfg.Disk.Project(id, x.Refs.Generation, x.Shown()); err != nil {
		return fmt.Errorf("refs of %s: %w", x.Of, err)
	}
	return nil
}

// readRow returns the repository's row as of now.
func readRow(s *store.Store, of nip34.Address) (refdb.Repository, error) {
	v := s.View()
	defer v.Close()
	return refdb.Read(v, of)
}

// headOf returns the generation and the directory of a repository as of now; zeros where it has none.
func headOf(s *store.Store, of nip34.Address) (generation uint64, dir refdb.Dir, err error) {
	v := s.View()
	defer v.Close()
	err = v.ReadRow(refdb.RowName(of), func(row []byte) (err error) {
		if row != nil {
			generation, dir, err = refdb.Head(row)
		}
		return err
	})
	return generation, dir, err
}
