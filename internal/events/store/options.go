package store

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/kv"
)

// Options say where the store is and what it may use. Every field but Dir has a default for its zero value.
type Options struct {
	Dir        string
	FS         vfs.FS                 // nil is the disk
	CacheBytes int64                  // decoded blocks kept in memory
	OpenTables int                    // tables kept open at once; 0 is 500
	TableBytes uint64                 // newest data kept in memory before it goes into a table, up to four times; 0 is 16 MiB
	Floor      uint64                 // bytes of the disk that stay free
	FreeSpace  func() (uint64, error) // bytes free where Dir is; nil asks FS
	InodeFloor uint64                 // inodes that stay free, or a twentieth of all where that is less; 0 is DefaultInodeFloor
	FreeInodes func() (Inodes, error) // where Dir is; nil asks the disk
	Now        func() time.Time       // nil is time.Now
	Rules      string                 // fingerprint of the rules; with another one Open forgets what was refused; "" leaves that alone
	Logger     *slog.Logger           // nil is silent
	ReadOnly   bool                   // Begin and KeepNotes fail with ErrReadOnly; the directory must be there
	Log        commitlog.Log          // with one, the store follows it, writes nothing but by it, and syncs nothing; nil is none

	// Bounds on what is remembered of events that are not stored; 0 is 2,000,000 and 20,000,000.
	MaxRemembered, MaxRememberedRows int64

	DeleteAtOnce int   // how many tags of a deletion Add carries out; Purge does the rest; 0 is DeleteAtOnce
	MaxMarks     int64 // how many marks of deletions one author may leave for what is not here; 0 is 20,000
	MaxUnused    int64 // how many unused deletion requests of one author the store serves, and remembers for long; 0 is MaxUnused
}

// Defaults returns what zero fields stand for.
func Defaults() Options { return Options{}.withDefaults() }

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.FreeSpace == nil {
		o.FreeSpace = diskSpace(o.FS, o.Dir)
	}
	if o.FreeInodes == nil {
		o.FreeInodes = diskInodes(o.FS, o.Dir)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.TableBytes = cmp.Or(o.TableBytes, 16<<20)
	o.Floor = cmp.Or(o.Floor, 1<<30)
	o.InodeFloor = cmp.Or(o.InodeFloor, DefaultInodeFloor)
	o.DeleteAtOnce = cmp.Or(o.DeleteAtOnce, DeleteAtOnce)
	o.MaxMarks = cmp.Or(o.MaxMarks, 20_000)
	o.MaxUnused = cmp.Or(o.MaxUnused, MaxUnused)
	o.MaxRemembered = cmp.Or(o.MaxRemembered, 2_000_000)
	o.MaxRememberedRows = cmp.Or(o.MaxRememberedRows, 20_000_000)
	return o
}

// tune is how the key-value store is opened, on this file system.
func (o Options) tune(fsys vfs.FS, lock *pebble.Lock, fail func(error)) kv.Tuning {
	return kv.Tuning{FS: fsys, Lock: lock, CacheBytes: o.CacheBytes, TableBytes: o.TableBytes, OpenTables: o.OpenTables, Simulated: o.FS != vfs.Default, Logger: o.Logger, Fail: fail}
}
