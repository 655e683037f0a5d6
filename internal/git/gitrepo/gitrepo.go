// Package gitrepo keeps repositories: no other package touches their directories. Each is a bare repository without a configuration. The
// packs of a repository come in by quarantines, and the refs are a projection of the log. A quarantine is admitted only when all objects in
// it are proven to be complete, with all that they lead to. So every object in a repository's packs is complete there, and the directory
// holds nothing but what strangers may fetch. Read [Repositories] first, then [Quarantine].
package gitrepo

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
)

var (
	// ErrNoSpace says that the disk has no room.
	ErrNoSpace = errors.New("the disk is full")
	// ErrNoRepository says that the repository has no directory.
	ErrNoRepository = errors.New("there is no such repository")
)

// Config says where a Disk keeps repositories, and when it combines packs.
type Config struct {
	Dir         string
	Git         *gitproc.Git
	Now         func() time.Time // nil: time.Now
	Logger      *slog.Logger     // nil is silent
	ReadOnly    bool             // the Disk changes nothing, and the directory must be there
	OpenIndexes int              // how many files of packs' indexes stay open; 0: 256
	Large       int64            // from so many bytes on Maintain combines a repository's packs in steps, and not all at once; 0: 64 MiB
	Depot       Depot            // says which packs there are, and has them; nil: they lie in Dir alone
	Local       int64            // with a Depot, bytes of packs that lie in Dir at most; 0: no bound but the disk
	Room        func() error     // with a Depot, reports that Dir has no room for more packs; nil: it always has
	WorthBitmap int64            // from so many bytes on a repository's only pack gets a bitmap when people clone it often; 0: 1 MiB
}

// Disk keeps repositories in a directory that no other process changes. Any number of goroutines may use a Disk.
type Disk struct {
	dir       *directory
	git       *gitproc.Git
	now       func() time.Time
	packs     *packs
	inUse     *inUse
	confirmed recentlyConfirmed
	clones    cloneCounts
	costly    costly
	bin       bin
	large     int64
	depot     Depot
	local     *Local // nil without a depot
	worth     int64
}

// Open opens the directory of cfg, makes it if there is none, and drops what a crash left of quarantines.
func Open(cfg Config) (_ *Disk, err error) {
	d := &Disk{dir: newDirectory(), git: cfg.Git, now: cfg.Now, depot: cfg.Depot}
	if d.now == nil {
		d.now = time.Now
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := d.dir.open(cfg.Dir, cfg.ReadOnly); err != nil {
		return nil, fmt.Errorf("repositories in %s: %w", cfg.Dir, err)
	}
	most := cfg.OpenIndexes
	if most == 0 {
		most = 256
	}
	d.packs = newPacks(d.dir, d.depot, most)
	d.inUse = newInUse(d.packs, log)
	if d.large = cfg.Large; d.large == 0 {
		d.large = 64 << 20
	}
	if d.worth = cfg.WorthBitmap; d.worth == 0 {
		d.worth = 1 << 20
	}
	if d.depot != nil && !cfg.ReadOnly {
		if d.local, err = newLocal(d, cfg); err != nil {
			return nil, errors.Join(fmt.Errorf("packs in %s: %w", cfg.Dir, err), d.dir.root.Close())
		}
	}
	return d, nil
}

// Close closes the files that d has open. Nobody may use d afterwards.
func (d *Disk) Close() error {
	d.local.close()
	return errors.Join(d.packs.close(), d.dir.root.Close())
}
