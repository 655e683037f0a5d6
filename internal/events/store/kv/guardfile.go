package kv

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardedFile is a file open for writing, front to back. When an operation fails, writes to a log go nowhere from then on. A table, which will be
// read, moves into memory as far as it got, and goes on there.
type guardedFile struct {
	vfs.File // the file on disk, then the one in memory
	g        *Guard
	name     string
	category vfs.DiskWriteCategory
	log      bool
	size     int64 // bytes written
	moved    bool  // it is in memory
}

// Write implements vfs.File.
func (f *guardedFile) Write(b []byte) (int, error) {
	err := f.do(func() error { _, err := f.File.Write(b); return err })
	if err != nil {
		return 0, err
	}
	f.size += int64(len(b))
	return len(b), nil
}

// Preallocate implements vfs.File.
func (f *guardedFile) Preallocate(at, length int64) error {
	return f.do(func() error { return f.File.Preallocate(at, length) })
}

// Sync implements vfs.File.
func (f *guardedFile) Sync() error { return f.do(func() error { return f.File.Sync() }) }

// SyncData implements vfs.File.
func (f *guardedFile) SyncData() error { return f.do(func() error { return f.File.SyncData() }) }

// SyncTo implements vfs.File.
func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close implements vfs.File.
func (f *guardedFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.g.fail(err)
	}
	return nil
}

// do performs an operation on disk, or, where that fails, in memory.
func (f *guardedFile) do(op func() error) error {
	if f.moved {
		return op()
	}
	if f.g.onDisk(op) || f.log {
		return nil
	}
	if err := f.move(); err != nil {
		return err
	}
	return op()
}

// move copies the file into memory and goes on there.
func (f *guardedFile) move() error {
	m, err := f.g.inMemory(f.name, f.category)
	if err != nil {
		return err
	}
	if _, err := io.Copy(m, io.NewSectionReader(f.File, 0, f.size)); err != nil {
		return err
	}
	f.File.Close()
	f.File, f.moved = m, true
	return nil
}
