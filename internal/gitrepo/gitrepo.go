// Package gitrepo keeps repositories: no other package touches their directories. Each is a bare repository without a
// configuration, whose packs come in by quarantines and whose refs are a projection of the log. An object that is in one of its
// packs is complete there, with all that it leads to, since a quarantine is admitted only when that is proven; and nothing that
// was not admitted is in it, so the directory is what strangers may fetch. Read [Repositories] first, then [Quarantine].
package gitrepo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/gitproc"
)

var (
	// ErrFull says that the disk has no room.
	ErrFull = errors.New("the disk is full")
	// ErrNoRepository says that there is no such directory.
	ErrNoRepository = errors.New("there is no such repository")
)

// Config says where repositories are.
type Config struct {
	Dir         string
	Git         *gitproc.Git
	Now         func() time.Time // nil: time.Now
	Logger      *slog.Logger     // nil is silent
	ReadOnly    bool             // nothing is changed, and the directory must be there
	OpenIndexes int              // files of packs' indexes that are kept open; 0: 256
	Large       int64            // bytes from which on a repository's packs are combined in steps, and not all at once; 0: 64 MiB
	WorthBitmap int64            // bytes from which on a repository's only pack gets a bitmap when it is cloned often; 0: 1 MiB
}

// Disk keeps repositories in a directory that no other process changes. Any number of goroutines may use it.
type Disk struct {
	root     *os.Root
	dir      string // absolute, for git
	git      *gitproc.Git
	now      func() time.Time
	log      *slog.Logger
	serial   atomic.Uint64 // of directories in incoming
	own      string        // begins their names: what a process writes that has outlived a kill is in none of these
	indexes  *indexes
	live     live
	promises promises
	demand   demand
	large    int64
	worth    int64
	changes  func()       // what tests do before each change of a file
	syncs    func(string) // and before a file or a directory is made durable
}

// incoming holds quarantines and whatever else is under construction: nothing in it outlives the process.
const incoming = "incoming"

// dropped is what incoming becomes before it is removed, so that nobody adds to it any more.
const dropped = "dropped"

// Open opens the directory, which it makes if there is none, and drops what a crash left of quarantines.
func Open(cfg Config) (*Disk, error) {
	d := &Disk{git: cfg.Git, now: cfg.Now, log: cfg.Logger, changes: func() {}, syncs: func(string) {}}
	if d.now == nil {
		d.now = time.Now
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := d.open(cfg.Dir, cfg.ReadOnly); err != nil {
		return nil, fmt.Errorf("repositories in %s: %w", cfg.Dir, err)
	}
	most := cfg.OpenIndexes
	if most == 0 {
		most = 256
	}
	d.indexes = newIndexes(most, d.load)
	d.live.m = map[ID]*repository{}
	if d.large = cfg.Large; d.large == 0 {
		d.large = 64 << 20
	}
	if d.worth = cfg.WorthBitmap; d.worth == 0 {
		d.worth = 1 << 20
	}
	return d, nil
}

func (d *Disk) open(dir string, readOnly bool) (err error) {
	if !readOnly {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	dir, err = filepath.Abs(dir)
	if err == nil {
		d.dir, err = filepath.EvalSymlinks(dir) // git compares names
	}
	if err == nil {
		d.root, err = os.OpenRoot(d.dir)
	}
	if err != nil || readOnly {
		return err
	}
	if err := d.afresh(); err != nil {
		return errors.Join(err, d.root.Close())
	}
	return nil
}

// afresh drops what the process before had under construction. Of its git processes some may live on for a while.
func (d *Disk) afresh() error {
	d.own = rand.Text()[:8]
	err := d.root.RemoveAll(dropped)
	if err == nil {
		if err = d.root.Rename(incoming, dropped); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = d.root.RemoveAll(dropped)
	}
	if err == nil {
		err = d.root.Mkdir(incoming, 0o700)
	}
	return err
}

// Close closes what is open. Nothing may use d any more.
func (d *Disk) Close() error {
	return errors.Join(d.indexes.close(), d.root.Close())
}

// abs is the path of a directory for git.
func (d *Disk) abs(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// exists reports whether a repository has a directory.
func (d *Disk) exists(repo ID) (bool, error) {
	if repo.IsZero() {
		return false, nil
	}
	_, err := d.root.Stat(repo.path() + "/HEAD")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// fresh makes an empty repository under construction, and returns its directory. It does not outlive the process, so nothing of it is
// made durable.
func (d *Disk) fresh() (string, error) {
	dir := fmt.Sprintf("%s/%s-%d", incoming, d.own, d.serial.Add(1))
	for _, sub := range []string{"", "/refs", "/objects", "/objects/pack"} {
		d.changes()
		if err := d.root.Mkdir(dir+sub, 0o700); err != nil {
			return dir, noted(err)
		}
	}
	d.changes()
	return dir, noted(d.root.WriteFile(dir+"/HEAD", []byte(noHead), 0o600))
}
