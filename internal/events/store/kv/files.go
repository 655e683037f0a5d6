package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func writeFile(fsys vfs.FS, path string, b []byte) error {
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// CopyFiles copies every file of a store but the lock, durably.
func CopyFiles(fsys vfs.FS, dir, to string) error {
	f := vfs.NewSyncingFS(fsys, vfs.SyncingFileOptions{})
	names, err := f.List(dir)
	if err != nil {
		return err
	}
	if err := f.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		from, copied := f.PathJoin(dir, name), f.PathJoin(to, name)
		switch {
		case name == "LOCK":
		case IsTable(name):
			err = vfs.LinkOrCopy(f, from, copied)
		default: // the engine writes into these files again
			err = vfs.Copy(f, from, copied)
		}
		if err != nil {
			return err
		}
	}
	d, err := f.OpenDir(to)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// HasFiles reports whether there are files of a store in the directory. An engine that does not find the file which leads to them would begin a
// new store and remove them.
func HasFiles(fsys vfs.FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	return slices.ContainsFunc(names, func(n string) bool { return IsTable(n) || IsWAL(n) }), err
}

// IsTable reports whether a file of that name is a table of the engine.
func IsTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// IsWAL reports whether a file of that name is a log of the engine.
func IsWAL(name string) bool { return strings.HasSuffix(name, ".log") }

// Unlisted returns the tables in the directory that the engine does not know.
func Unlisted(fsys vfs.FS, dir string, db *pebble.DB) ([]string, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool)
	for _, level := range levels {
		for _, t := range level {
			listed[fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))] = true
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !IsTable(n) || listed[n] }), nil
}

// Manifest returns the path of the engine's list of tables.
func Manifest(fsys vfs.FS, dir string) string {
	if d, err := pebble.Peek(dir, fsys); err == nil && d.Exists {
		return d.ManifestFilename
	}
	return fsys.PathJoin(dir, "MANIFEST")
}
