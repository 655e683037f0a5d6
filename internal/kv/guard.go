package kv

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Guard stands between the key-value store and the disk. Pebble ends the process when its write-ahead log cannot be
// written, tries for ever where a table cannot, and stalls whoever commits meanwhile. With a guard the first failure is
// the last thing that reaches the disk, as if the power had been cut then: what was acknowledged is there, and nothing
// is removed any more. The key-value store goes on in memory, for its readers, and never learns of it; the store tells
// whoever opens it or writes.
type Guard struct {
	vfs.FS
	dir     string      // what is outside is not this store's, and nothing is guarded there
	memory  *vfs.MemFS  // what is written after the failure
	fail    func(error) // notes a failure and trips, in this order
	tripped atomic.Bool
}

// NewGuard guards the files of a directory. fail is told of each failure, on the goroutine that meets it, and trips the guard.
func NewGuard(fs vfs.FS, dir string, fail func(error)) *Guard {
	return &Guard{FS: fs, dir: dir, memory: vfs.NewMem(), fail: fail}
}

// outside reports whether a path is not in the guarded directory: a copy is written there.
func (g *Guard) outside(name string) bool { return name != g.dir && g.FS.PathDir(name) != g.dir }

// Trip keeps everything from the disk from now on.
func (g *Guard) Trip() { g.tripped.Store(true) }

// failed notes how an operation ended, and reports whether this one or an earlier one failed.
func (g *Guard) failed(err error) bool {
	if err != nil {
		g.fail(err) // which trips
	}
	return g.tripped.Load()
}

// Create implements vfs.FS.
func (g *Guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if g.outside(name) {
		return g.FS.Create(name, c)
	}
	if g.failed(nil) {
		return g.inMemory(name, c)
	}
	f, err := g.FS.Create(name, c)
	return g.opened(f, err, name, c)
}

// ReuseForWrite implements vfs.FS.
func (g *Guard) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if g.failed(nil) {
		return g.inMemory(name, c)
	}
	f, err := g.FS.ReuseForWrite(old, name, c)
	return g.opened(f, err, name, c)
}

// opened guards a file that was opened for writing, or takes one in memory for one that could not be.
func (g *Guard) opened(f vfs.File, err error, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err == nil {
		return &guardedFile{File: f, g: g, name: name, category: c, log: isLog(g.FS.PathBase(name))}, nil
	}
	g.failed(err)
	return g.inMemory(name, c)
}

// isLog reports whether nothing is ever read of a file that is written, but when the store is opened: of the log, and
// of the list of tables.
func isLog(base string) bool {
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST")
}

func (g *Guard) inMemory(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.memory.MkdirAll(g.memory.PathDir(name), 0o700); err != nil {
		return nil, err
	}
	return g.memory.Create(name, c)
}

// Open implements vfs.FS.
func (g *Guard) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if g.failed(nil) {
		if f, err := g.memory.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	return g.FS.Open(name, opts...)
}

// Stat implements vfs.FS.
func (g *Guard) Stat(name string) (vfs.FileInfo, error) {
	if g.failed(nil) {
		if info, err := g.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return g.FS.Stat(name)
}

// Remove implements vfs.FS. A restart needs what is on the disk.
func (g *Guard) Remove(name string) error {
	if g.failed(nil) && !g.outside(name) {
		_ = g.memory.Remove(name) // it may be on the disk
		return nil
	}
	return g.FS.Remove(name) // what is not removed today is removed at the next start
}

// Rename implements vfs.FS.
func (g *Guard) Rename(old, name string) error {
	if g.outside(name) {
		return g.FS.Rename(old, name)
	}
	if !g.failed(nil) {
		if err := g.FS.Rename(old, name); err == nil {
			return nil
		} else {
			g.failed(err)
		}
	}
	_ = g.memory.Rename(old, name) // what is on the disk stays as it is
	return nil
}

// OpenDir implements vfs.FS. Directories are opened to be synced.
func (g *Guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if g.outside(name) {
		return f, err
	}
	if err != nil {
		g.failed(err)
		return vfs.NewMemFile(nil), nil
	}
	return &guardedFile{File: f, g: g, log: true}, nil
}

// Unwrap implements vfs.FS.
func (g *Guard) Unwrap() vfs.FS { return g.FS }
