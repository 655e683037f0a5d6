package kv

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Guard stands between the engine and the disk. Pebble ends the process when it cannot write its write-ahead log, and tries for ever when it
// cannot write a table, while commits stall. With a guard nothing reaches the disk after the first failure, as if the power had been cut then:
// everything that was acknowledged is there, and nothing is removed any more. The engine goes on in memory, for its readers, and never learns
// of the failure; the store tells whoever opens it or writes.
type Guard struct {
	vfs.FS
	dir     string      // files outside are not this store's, and are not guarded
	memory  *vfs.MemFS  // takes what the engine writes after the failure
	fail    func(error) // notes a failure and trips, in this order
	tripped atomic.Bool
}

// NewGuard guards the files of a directory. It calls fail with each failure, on the goroutine that meets it; fail has to trip the guard.
func NewGuard(fs vfs.FS, dir string, fail func(error)) *Guard {
	return &Guard{FS: fs, dir: dir, memory: vfs.NewMem(), fail: fail}
}

// outside reports whether a path is not in the guarded directory, as the paths of a copy are.
func (g *Guard) outside(name string) bool { return name != g.dir && g.FS.PathDir(name) != g.dir }

// Trip keeps everything away from the disk from now on.
func (g *Guard) Trip() { g.tripped.Store(true) }

// failed takes the error of an operation, and reports whether this or an earlier one failed.
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

// opened guards a file that was opened for writing. Where it could not be opened, it returns a file in memory.
func (g *Guard) opened(f vfs.File, err error, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err == nil {
		return &guardedFile{File: f, g: g, name: name, category: c, log: isLog(g.FS.PathBase(name))}, nil
	}
	g.failed(err)
	return g.inMemory(name, c)
}

// isLog reports whether a file that the engine writes is read only when a store opens: the log, and the list of tables.
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

// Remove implements vfs.FS. After a failure it leaves everything on the disk, as a restart needs it.
func (g *Guard) Remove(name string) error {
	if g.failed(nil) && !g.outside(name) {
		_ = g.memory.Remove(name) // it may be only on the disk
		return nil
	}
	return g.FS.Remove(name) // a file that stays is removed at the next start
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
	_ = g.memory.Rename(old, name) // files on the disk stay as they are
	return nil
}

// OpenDir implements vfs.FS. The engine opens directories to sync them.
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
