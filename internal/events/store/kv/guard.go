package kv

import (
	"strings"
	"sync"
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
	writing sync.RWMutex // held for reading by whoever changes something on the disk

	mu   sync.Mutex
	kept *[]string // tables that the engine has removed and that stay for now; nil removes them
}

// NewGuard guards the files of a directory. It calls fail with each failure, on the goroutine that meets it; fail has to trip the guard.
func NewGuard(fs vfs.FS, dir string, fail func(error)) *Guard {
	return &Guard{FS: fs, dir: dir, memory: vfs.NewMem(), fail: fail}
}

// outside reports whether a path is not in the guarded directory, as the paths of a copy are.
func (g *Guard) outside(name string) bool { return name != g.dir && g.FS.PathDir(name) != g.dir }

// Trip keeps everything away from the disk from now on, but for what is under way.
func (g *Guard) Trip() { g.tripped.Store(true) }

// Settle returns when nothing is under way any more that began before Trip. Then another engine may use the disk.
func (g *Guard) Settle() {
	g.writing.Lock()
	defer g.writing.Unlock()
}

// Keep leaves all tables on the disk that the engine removes, until Release. Another engine, which was opened before, may read them.
func (g *Guard) Keep() { g.kept = new([]string) }

// Release removes the tables that Keep has left there.
func (g *Guard) Release() {
	g.mu.Lock()
	kept := g.kept
	g.kept = nil
	g.mu.Unlock()
	if kept == nil {
		return
	}
	for _, name := range *kept {
		_ = g.Remove(name) // a file that stays is removed at the next start
	}
}

// keeps takes note of a table that is to stay, and reports whether it is.
func (g *Guard) keeps(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil || !IsTable(name) {
		return false
	}
	*g.kept = append(*g.kept, name)
	return true
}

// onDisk performs an operation that changes the disk, unless something has failed there before, and reports whether all is well.
func (g *Guard) onDisk(op func() error) bool {
	g.writing.RLock()
	if g.tripped.Load() {
		g.writing.RUnlock()
		return false
	}
	err := op()
	g.writing.RUnlock()
	if err != nil {
		g.fail(err) // which trips
	}
	return err == nil
}

// Create implements vfs.FS.
func (g *Guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if g.outside(name) {
		return g.FS.Create(name, c)
	}
	return g.opened(func() (vfs.File, error) { return g.FS.Create(name, c) }, name, c)
}

// ReuseForWrite implements vfs.FS.
func (g *Guard) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.opened(func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, c) }, name, c)
}

// opened opens a file for writing, and guards it. Where it cannot be opened, it returns a file in memory.
func (g *Guard) opened(open func() (vfs.File, error), name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	var f vfs.File
	if g.onDisk(func() (err error) { f, err = open(); return err }) {
		return &guardedFile{File: f, g: g, name: name, category: c, log: isLog(g.FS.PathBase(name))}, nil
	}
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
	if g.tripped.Load() {
		if f, err := g.memory.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	return g.FS.Open(name, opts...)
}

// List implements vfs.FS. An engine that opens and cannot list its files would give up in the middle, and end the process from one of its own
// goroutines; so it goes on in memory, without files.
func (g *Guard) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	if err != nil && dir == g.dir {
		g.fail(err) // which trips
		return nil, nil
	}
	return names, err
}

// Stat implements vfs.FS.
func (g *Guard) Stat(name string) (vfs.FileInfo, error) {
	if g.tripped.Load() {
		if info, err := g.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return g.FS.Stat(name)
}

// Remove implements vfs.FS. After a failure it leaves everything on the disk, as a restart needs it.
func (g *Guard) Remove(name string) error {
	if g.outside(name) {
		return g.FS.Remove(name)
	}
	g.writing.RLock()
	defer g.writing.RUnlock()
	if g.tripped.Load() {
		_ = g.memory.Remove(name) // it may be only on the disk
		return nil
	}
	if g.keeps(name) {
		return nil
	}
	return g.FS.Remove(name) // a file that stays is removed at the next start
}

// Rename implements vfs.FS.
func (g *Guard) Rename(old, name string) error {
	if g.outside(name) {
		return g.FS.Rename(old, name)
	}
	if !g.onDisk(func() error { return g.FS.Rename(old, name) }) {
		_ = g.memory.Rename(old, name) // files on the disk stay as they are
	}
	return nil
}

// OpenDir implements vfs.FS. The engine opens directories to sync them.
func (g *Guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if g.outside(name) {
		return f, err
	}
	if err != nil {
		g.fail(err)
		return vfs.NewMemFile(nil), nil
	}
	return &guardedFile{File: f, g: g, log: true}, nil
}

// Unwrap implements vfs.FS.
func (g *Guard) Unwrap() vfs.FS { return g.FS }
