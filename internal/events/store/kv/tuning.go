package kv

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/layout"
)

// ErrDamaged says that the disk does not have what was written.
var ErrDamaged = errors.New("the data is damaged, \"graspd check --repair\" saves what can be read")

// Tuning says how to open the engine.
type Tuning struct {
	FS         vfs.FS
	Lock       *pebble.Lock // nil where nobody else opens it
	CacheBytes int64
	TableBytes uint64
	OpenTables int  // tables kept open at once; 0 is 500
	Simulated  bool // the disk is simulated, and nothing looks for work by the clock
	Logger     *slog.Logger
	Fail       func(error) // called with an error after which the engine cannot go on
}

// Options returns the engine's options, tuned for a small machine: few and small memtables, one compaction at a time, and filters, as most
// lookups are for keys that are not there.
func (t Tuning) Options() *pebble.Options {
	log := &pebbleLogger{t.Logger, t.Fail}
	p := &pebble.Options{
		FS:                          t.FS,
		Lock:                        t.Lock,
		CacheSize:                   t.CacheBytes,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                t.TableBytes,
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                cmp.Or(t.OpenTables, 500),
		Logger:                      log,
		EventListener:               log.events(),
	}
	if t.Simulated {
		// The usual scheduler looks for work ten times a second, which would take up nearly all of a simulated day.
		p.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].FilterType = pebble.TableFilter
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 64 << 10 // one for a table: an index of two levels is searched anew for each key
		p.Levels[i].Compression = func() *block.CompressionProfile { return logCompression }
	}
	p.Experimental.SpanPolicyFunc = spans
	return p
}

// logCompression is MinLZ at the first of its levels for the data: the second one takes twice as long for 4 % less disk. zstd takes less disk
// still, but the store reads events one by one, and without cgo the engine sets up a zstd decoder for every block.
var logCompression = func() *block.CompressionProfile {
	p := *block.MinLZCompression // keeps its name, which the engine looks up
	p.DataBlocks.Level = 1       // minlz.LevelFastest
	p.MinReductionPercent = 5
	return &p
}()

// spans keeps the log in tables of its own. As its keys only grow, these tables overlap no others, and merging index rows does not write the
// events again and again. Only the log has the costlier compression, under which index rows hardly shrink. Older tables may have another
// compression; each block says which.
func spans(key []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	switch table := key[0]; {
	case table < layout.TableLog:
		return pebble.SpanPolicy{PreferFastCompression: true}, []byte{layout.TableLog}, nil
	case table == layout.TableLog:
		return pebble.SpanPolicy{}, []byte{layout.TableLog + 1}, nil
	}
	return pebble.SpanPolicy{PreferFastCompression: true}, nil, nil
}

// pebbleLogger takes the messages of the engine. A failure of the disk becomes the store's failure.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(error)
}

// Infof is silent: its messages are about the inner life of the engine.
func (l *pebbleLogger) Infof(string, ...any) {}

// Errorf logs.
func (l *pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("the key-value store reports an error", "message", fmt.Sprintf(format, args...))
}

// Fatalf is called where the engine cannot go on. It does not end the process: the next commit fails with the error.
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
