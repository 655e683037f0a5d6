package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// objects answers the ledger's questions from the disk.
type objects struct {
	disk gitrepo.Repositories
	kept *Kept
	log  *slog.Logger
}

// Missing asks the disk. An object that cannot be read counts as missing: the events of one damaged repository wait, and all others go on. Where packs
// are kept in an object store, nothing is decided while this disk lacks an index: Missing fails then.
func (o objects) Missing(rows refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if o.kept != nil && !dir.IsZero() {
		return o.kept.missing(rows, dir, ids)
	}
	missing, err := o.disk.Missing(gitrepo.ID(dir), ids)
	if err != nil {
		o.log.Error("a repository cannot be read: stop graspd and run graspd check", "dir", gitrepo.ID(dir).String(), "error", err)
		return ids, nil
	}
	return missing, nil
}

// packs makes packs from the disk for HTTP, where directories are text.
type packs struct {
	disk gitrepo.Repositories
	kept *Kept
}

// Packs makes packs of the objects that are served.
func (r *Reader) Packs() packs { return packs{r.cfg.Disk, r.cfg.Kept} }

func (p packs) id(dir string) (gitrepo.ID, error) {
	id, err := gitrepo.ParseID(dir)
	if err != nil {
		return id, fmt.Errorf("directory %q: %w", dir, err)
	}
	return id, nil
}

// Missing asks the disk.
func (p packs) Missing(dir string, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	id, err := p.id(dir)
	if err != nil {
		return nil, err
	}
	missing, err := p.disk.Lacks(id, ids)
	if errors.Is(err, gitrepo.ErrAbsent) {
		ctx, cancel := context.WithTimeout(context.Background(), healTime)
		defer cancel()
		if err = p.kept.Local.Restore(ctx, id); err == nil {
			missing, err = p.disk.Lacks(id, ids)
		}
	}
	return missing, err
}

// healTime is how long a client waits for indexes of packs that were here and are gone.
const healTime = time.Minute

// Bringing asks the disk.
func (p packs) Bringing(dir string) string {
	if p.kept == nil {
		return ""
	}
	id, err := p.id(dir)
	if err != nil {
		return ""
	}
	got, all, is := p.kept.Local.Bringing(id)
	if !is {
		return ""
	}
	return fmt.Sprintf("this server has the repository in its object store: %s of %s are here", size(got), size(all))
}

// Unreached asks the disk.
func (p packs) Unreached(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]gitwire.ObjectID, error) {
	id, err := p.id(dir)
	if err != nil {
		return nil, err
	}
	return p.disk.Unreached(ctx, id, ids, party)
}

// Pack asks the disk.
func (p packs) Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error {
	id, err := p.id(dir)
	if err != nil {
		return err
	}
	return p.disk.Pack(ctx, id, f, party, out)
}

// Upload asks the disk.
func (p packs) Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error {
	id, err := p.id(dir)
	if err != nil {
		return err
	}
	return p.disk.Upload(ctx, id, q, party, out)
}

// Archive asks the disk.
func (p packs) Archive(ctx context.Context, dir string, commit gitwire.ObjectID, name, party string, out io.Writer) error {
	id, err := p.id(dir)
	if err != nil {
		return err
	}
	return p.disk.Archive(ctx, id, commit, name, party, out)
}

// Sizes asks the disk.
func (p packs) Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error) {
	id, err := p.id(dir)
	if err != nil {
		return nil, err
	}
	return p.disk.Sizes(ctx, id, ids, party)
}
