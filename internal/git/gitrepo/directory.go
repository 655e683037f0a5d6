package gitrepo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// incoming holds quarantines and whatever else is under construction: nothing in it outlives the process.
const incoming = "incoming"

// dropped is the name that incoming gets before it is removed, so that nobody adds to it any more.
const dropped = "dropped"

// directory owns the files of all repositories, and the directories under construction.
type directory struct {
	root    *os.Root
	path    string        // absolute, for git
	serial  atomic.Uint64 // of directories in incoming
	own     string        // begins their names, so that a git process which has outlived a kill writes into none of them
	changes func()        // what tests do before each change of a file
	syncs   func(string)  // and before a file or a directory is made durable
	reads   func(string)  // and before a directory, the index of a pack, or which packs are gone, is read, or a file copied
}

func newDirectory() *directory {
	return &directory{changes: func() {}, syncs: func(string) {}, reads: func(string) {}}
}

// open opens the directory, which it makes unless it is only to be read, and drops what the process before had under construction.
func (d *directory) open(dir string, readOnly bool) (err error) {
	if !readOnly {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	dir, err = filepath.Abs(dir)
	if err == nil {
		d.path, err = filepath.EvalSymlinks(dir) // git compares names
	}
	if err == nil {
		d.root, err = os.OpenRoot(d.path)
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
func (d *directory) afresh() error {
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

// exists reports whether a repository has a directory.
func (d *directory) exists(repo ID) (bool, error) {
	if repo.IsZero() {
		return false, nil
	}
	_, err := d.root.Stat(repo.path() + "/HEAD")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// abs is the path of a directory for git.
func (d *directory) abs(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// fresh makes an empty repository under construction, and returns its directory. It does not outlive the process, so nothing of it is
// made durable.
func (d *directory) fresh() (string, error) {
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
