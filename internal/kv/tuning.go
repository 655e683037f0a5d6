package kv

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/layout"
)

// ErrDamaged says that what is on the disk is not what was written.
var ErrDamaged = errors.New("the data is damaged, \"graspd check --repair\" saves what can be read")

// Tuning is what the key-value store is opened with.
type Tuning struct {
	FS         vfs.FS
	Lock       *pebble.Lock // nil where nobody else opens it
	CacheBytes int64
	TableBytes uint64
	Simulated  bool // the disk is none: nothing looks for work by the clock
	Logger     *slog.Logger
	Fail       func(error) // is told of what the key-value store cannot go on after
}

// Options tunes the key-value store for a small machine: few and small memtables, one compaction at a time, and
// filters, since most lookups are for what is not there.
func (t Tuning) Options() *pebble.Options {
	log := &pebbleLogger{t.Logger, t.Fail}
	p := &pebble.Options{
		FS:                          t.FS,
		Lock:                        t.Lock,
		CacheSize:                   t.CacheBytes,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                t.TableBytes,
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                500,
		Logger:                      log,
		EventListener:               log.events(),
	}
	if t.Simulated {
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
	l.log.Error("the key-value store reports an error", "message", fmt.Sprintf(format, args...))
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
