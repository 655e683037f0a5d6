package hosting

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Kept says that packs lie in an object store, and that the disk has copies of those that are used. Which packs a repository has is its manifest.
type Kept struct {
	Depot *depot.Depot
	Local *gitrepo.Local // of Config.Disk, which was opened with this Depot

	disk *gitrepo.Disk

	absent chan refdb.Dir // repositories for which nothing can be decided, as indexes of packs are gone; those beyond its room are not told
}

// NewKept returns a Kept. local was opened with the depot.
func NewKept(d *depot.Depot, local *gitrepo.Disk) *Kept {
	return &Kept{Depot: d, Local: local.Local(), disk: local, absent: make(chan refdb.Dir, absentKept)}
}

// absentKept is how many repositories wait for their indexes.
const absentKept = 64

// gone has the repositories whose indexes are to be brought again.
func (k *Kept) gone() <-chan refdb.Dir {
	if k == nil {
		return nil
	}
	return k.absent
}

// put puts the packs of a quarantine where they are kept, before a commit names them. The caller calls done after the commit.
func (k *Kept) put(ctx context.Context, q gitrepo.Quarantine) (put []refdb.Pack, done func(), err error) {
	if k == nil {
		return nil, func() {}, nil
	}
	packs, err := q.Packs()
	if err != nil {
		return nil, func() {}, err
	}
	return k.Depot.Put(ctx, packs)
}

// missing returns those of ids that a repository does not have, by its manifest among rows.
func (k *Kept) missing(rows refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	m, err := refdb.ReadManifest(rows, dir)
	if err != nil {
		return nil, err
	}
	missing, err := k.Local.MissingAmong(gitrepo.ID(dir), m, ids)
	if errors.Is(err, gitrepo.ErrAbsent) {
		select {
		case k.absent <- dir:
		default:
		}
	}
	return missing, err
}

// bring brings the packs of a repository to this disk before somebody pushes to it, and tells them that it does.
func (k *Kept) bring(ctx context.Context, dir refdb.Dir, party string, tell func(string)) error {
	if k == nil {
		return nil
	}
	if _, all, is := k.Local.Bringing(gitrepo.ID(dir)); is {
		tell(fmt.Sprintf("waiting for the packs of the repository, %s", size(all)))
	}
	return k.Local.Bring(ctx, gitrepo.ID(dir), party)
}

// shrink brings the packs on this disk within their bound.
func (k *Kept) shrink() error {
	if k == nil {
		return nil
	}
	return k.Local.Shrink()
}

// swap returns how combined packs take the place of those of a repository, and are counted; nil where the disk alone has packs.
func (k *Kept) swap(door *ingest.Door, l *refdb.Ledger, counted *quotas, of nip34.Address, dir refdb.Dir) gitrepo.Swap {
	if k == nil {
		return nil
	}
	return func(ctx context.Context, c gitrepo.Combined) (bool, error) {
		fresh, done, err := k.Depot.Put(ctx, c.Fresh)
		if err != nil {
			return false, err
		}
		defer done()
		did := false
		var before, after refdb.Repository
		err = door.Exclusively(ctx, "", func(t *ingest.Exclusive) (err error) {
			if did = c.May(); did {
				before, after, did, err = l.Combined(t.Turn, of, dir, c.Old, fresh)
			}
			return err
		})
		if err == nil && did {
			counted.add(of.PubKey, 0, after.Bytes-before.Bytes)
		}
		return did, err
	}
}

// settle makes the directory of a repository where it is not there, with the files of its refs.
func (k *Kept) settle(ctx context.Context, r refdb.Repository) error {
	if err := k.Local.Restore(ctx, gitrepo.ID(r.Dir)); err != nil {
		return err
	}
	return k.disk.Project(gitrepo.ID(r.Dir), r.Refs.Generation, r.Shown())
}

// house makes the directory of a repository where it is not there.
func (k *Kept) house(ctx context.Context, dir gitrepo.ID) error {
	if k == nil {
		return nil
	}
	if there, err := k.disk.There(dir); there || err != nil {
		return err
	}
	return k.Local.Restore(ctx, dir)
}
