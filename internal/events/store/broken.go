package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
)

// Broken is a store that its holder repairs: no other process opens it until Release. A repair reads the store through Broken.
type Broken struct {
	s    *Store
	lock *pebble.Lock
}

// HoldBroken holds the store in o.Dir. HoldBroken first does the last step of a repair that was interrupted before that step. HoldBroken
// fails with ErrInUse where another process has the store open.
func HoldBroken(o Options) (*Broken, error) {
	o.ReadOnly = true
	s := newStore(o)
	if err := kv.FinishSwap(s.opt.FS, o.Dir); err != nil {
		return nil, err
	}
	lock, err := kv.LockDirectory(s.opt.FS, o.Dir, true)
	if err != nil {
		return nil, err
	}
	return &Broken{s, lock}, nil
}

// Options returns the options of HoldBroken with their defaults, for a store that is written.
func (b *Broken) Options() Options {
	o := b.s.opt
	o.ReadOnly = false
	return o
}

// Open opens the store for reading, and reads these tables once. Where the engine cannot read all of that, Open fails with ErrDamaged and
// the store is not open.
func (b *Broken) Open(tables string) error {
	err := b.s.openLocked(b.lock)
	if err != nil {
		return err
	}
	if err = b.readable(tables); err == nil {
		return nil
	}
	if err := b.Close(); err != nil {
		return err
	}
	return err
}

func (b *Broken) readable(tables string) error {
	for _, table := range []byte(tables) {
		if err := b.Each(table, func(_, _ []byte) error { return nil }); err != nil {
			return damaged(err)
		}
	}
	return b.s.Failure()
}

// Each calls do with every key of a table. Both slices are valid only during the call.
func (b *Broken) Each(table byte, do func(key, value []byte) error) error {
	return index.EachKey(b.s.engine.db, table, do)
}

// Beside opens the new store that will take the place of the broken one, in a directory beside it. The new store has no rules, as the old
// one may have to tell these. The caller closes it.
func (b *Broken) Beside() (*Store, error) {
	o := b.Options()
	o.Dir += kv.SuffixBuilding
	o.Rules, o.Log = "", nil
	return Open(o)
}

// Close closes what Open opened. The store is still held.
func (b *Broken) Close() error {
	b.s.release(b.s.cur)
	return b.s.drop(b.s.engine)
}

// Release lets others open the store.
func (b *Broken) Release() error { return b.lock.Close() }
