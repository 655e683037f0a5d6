package cluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

// shared is a log that all nodes share, which misbehaves.
type shared interface {
	commitlog.Log
	Deliver()                                          // lets requests come that are late
	truth(commitlog.Position) (commitlog.Entry, error) // is Read, where nothing goes wrong
	last() commitlog.Position                          // of the last entry
	upTo(commitlog.Position) *logtest.Memory           // a copy of its beginning
}

// inMemory is a log in memory.
type inMemory struct{ *logtest.Memory }

func (m inMemory) truth(at commitlog.Position) (commitlog.Entry, error) {
	return m.Read(context.Background(), at)
}
func (m inMemory) last() commitlog.Position                   { return m.Len() }
func (m inMemory) upTo(at commitlog.Position) *logtest.Memory { return m.UpTo(at) }

// inBucket is a log in an object store.
type inBucket struct {
	*bucketlog.Log
	*objecttest.Memory
	plain atomic.Bool // nothing goes wrong just now
	known commitlog.Position
}

// newInBucket makes a log in an object store that misbehaves as a store may, until the world is calm.
func newInBucket(w *world) *inBucket {
	b := &inBucket{Memory: new(objecttest.Memory)}
	wrong := objecttest.Random(w.seed, 40*time.Millisecond)
	b.Memory.Fault = func(q objecttest.Request) objecttest.Fault {
		if b.plain.Load() || w.calms() {
			return objecttest.Fault{}
		}
		f := wrong(q)
		if f.Lost || f.Silent || f.Again > 0 {
			w.say("%s: %s %s: %+v", theLog, q.Op, q.Name, f)
		}
		return f
	}
	b.Log = bucketlog.New(b.Memory)
	return b
}

func (b *inBucket) truth(at commitlog.Position) (commitlog.Entry, error) {
	b.plain.Store(true)
	defer b.plain.Store(false)
	return b.Read(context.Background(), at)
}

func (b *inBucket) last() commitlog.Position {
	for {
		if _, err := b.truth(b.known + 1); errors.Is(err, commitlog.ErrNone) {
			return b.known
		} else if err != nil {
			panic(err)
		}
		b.known++
	}
}

func (b *inBucket) upTo(last commitlog.Position) *logtest.Memory {
	m := new(logtest.Memory)
	var before commitlog.Chain
	for at := commitlog.Position(1); at <= last; at++ {
		x, err := b.truth(at)
		if err == nil {
			_, err = m.Append(context.Background(), at, before, x.Body)
		}
		if err != nil {
			panic(err)
		}
		before = x.Chain
	}
	return m
}
