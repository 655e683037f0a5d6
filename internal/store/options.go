package store

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/layout"
)

// Options say where the store is and what it may use. The zero value of every field but Dir is its default.
type Options struct {
	Dir        string
	FS         vfs.FS                 // nil is the disk
	CacheBytes int64                  // decoded blocks kept in memory
	TableBytes uint64                 // newest data kept in memory before it goes into a table, up to four times; 0 is 16 MiB
	Floor      uint64                 // bytes of disk to leave free
	FreeSpace  func() (uint64, error) // bytes free where Dir is; nil asks FS
	InodeFloor uint64                 // inodes to leave free, or a twentieth of all where that is less; 0 is DefaultInodeFloor
	FreeInodes func() (Inodes, error) // where Dir is; nil asks the disk
	Now        func() time.Time       // nil is time.Now
	Rules      string                 // fingerprint: another one forgets what was refused; "" leaves that alone
	Logger     *slog.Logger           // nil is silent
	ReadOnly   bool                   // nothing is written: Begin and KeepNotes fail with ErrReadOnly; the directory must be there

	// Bounds on what is remembered of events that are not stored; 0 is 2,000,000 and 20,000,000.
	MaxRemembered, MaxRememberedRows int64

	DeleteAtOnce int   // what so many tags of a deletion name is done when it is added, the rest by Purge; 0 is DeleteAtOnce
	MaxMarks     int64 // how many marks of deletions one author may leave for what is not here; 0 is 20,000
	MaxUnused    int64 // how many deletions of one author that have removed nothing are served, and remembered for long; 0 is MaxUnused
}

// Defaults are what zero fields take.
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

// pebbleOptions tunes the key-value store for a small machine: few and small memtables, one compaction at a time, and
// filters, since most lookups are for what is not there.
func (o Options) pebbleOptions(fs vfs.FS, lock *pebble.Lock, log *pebbleLogger) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		CacheSize:                   o.CacheBytes,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                o.TableBytes,
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                500,
		Logger:                      log,
		EventListener:               log.events(),
	}
	if o.FS != vfs.Default {
		// The usual one looks for work ten times a second, which would make up nearly all of a simulated day.
		p.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].FilterType = pebble.TableFilter
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].Compression = func() *block.CompressionProfile { return logCompression }
	}
	p.Experimental.SpanPolicyFunc = spans
	return p
}

// logCompression is MinLZ at the first of its levels for the data: the second one takes twice as long for 4 % less disk.
// zstd takes less still, but events are read one by one, and without cgo the engine sets up a decoder for every block.
var logCompression = func() *block.CompressionProfile {
	p := *block.MinLZCompression // under its name, which the engine looks up
	p.DataBlocks.Level = 1       // minlz.LevelFastest
	p.MinReductionPercent = 5
	return &p
}()

// spans keeps the log in tables of its own. Its keys only grow, so these tables overlap nothing, and the merging of the
// index rows does not write the events again and again. Index rows hardly shrink under the costlier compression, which
// is left to the log. Tables of before may have another; each block says which.
func spans(key []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	switch table := key[0]; {
	case table < layout.TableLog:
		return pebble.SpanPolicy{PreferFastCompression: true}, []byte{layout.TableLog}, nil
	case table == layout.TableLog:
		return pebble.SpanPolicy{}, []byte{layout.TableLog + 1}, nil
	}
	return pebble.SpanPolicy{PreferFastCompression: true}, nil, nil
}

// pebbleLogger takes what the key-value store has to say. Failures of the disk become the store's failure.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(error)
}

// Infof is silent: it is about the inner life of the key-value store.
func (l *pebbleLogger) Infof(string, ...any) {}

// Errorf logs.
func (l *pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("storage", "message", fmt.Sprintf(format, args...))
}

// Fatalf is called where the key-value store cannot go on. It must not end the process: whoever commits next is told.
func (l *pebbleLogger) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
}

func (l *pebbleLogger) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.fail(err) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			l.fail(fmt.Errorf("%w: %s: %v", ErrDamaged, info.Path, info.Details))
		},
	}
}
