package storecheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Repaired says what a repair has done.
type Repaired struct {
	Events   int64 // in the new store
	LeftOut  int64 // entries that the store's rules refuse: duplicates, deleted, superseded
	Old      string
	Salvaged error // why the engine could not read the old store, so that the repair read its files one by one; nil where it could

	Problems []string // what could not be carried over, at most maxProblems
	More     bool     // there were more problems than that
}

func (r *Repaired) problem(format string, args ...any) {
	if len(r.Problems) == maxProblems {
		r.More = true
		return
	}
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Repair builds the store in o.Dir anew from its stored events. It makes a second store beside the first, entry by entry under the same numbers
// and rules, checks it, and puts it into the place of the first, which stays under the name Old. It carries over what does not follow from the
// events (notes, rows, what is remembered, what was deleted by events that are gone) as far as it can read that. After an error the first store
// is as it was, unless it had moved away already: then the next start puts the checked new store into its place.
func Repair(ctx context.Context, o store.Options, c CheckOptions) (_ Repaired, err error) {
	wrap := func(err error) error { return fmt.Errorf("repair store %s: %w", o.Dir, err) }
	old, err := store.HoldBroken(o)
	if err != nil {
		return Repaired{}, wrap(err)
	}
	r := &repair{opt: old.Options(), check: c, stopped: func() error { return context.Cause(ctx) }}
	err = r.run(ctx, old)
	if err = errors.Join(err, old.Release()); err != nil {
		return r.report, wrap(err)
	}
	return r.report, nil
}

// repair is a repair under way.
type repair struct {
	opt     store.Options
	check   CheckOptions
	stopped func() error // returns why the repair has to end; nil while it does not
	report  Repaired
}

func (r *repair) run(ctx context.Context, old *store.Broken) (err error) {
	for _, suffix := range []string{kv.SuffixBuilding, kv.SuffixComplete, kv.SuffixSalvage} {
		if err := r.opt.FS.RemoveAll(r.opt.Dir + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	from, err := r.source(old)
	if err != nil {
		return err
	}
	if err := errors.Join(r.build(ctx, old, from), from.Close()); err != nil {
		return errors.Join(err, r.opt.FS.RemoveAll(r.opt.Dir+kv.SuffixBuilding))
	}
	if r.report.Old, err = kv.SwapIn(r.opt.FS, r.opt.Dir, r.opt.Now()); err != nil {
		return errors.Join(err, kv.AbandonSwap(r.opt.FS, r.opt.Dir))
	}
	return nil
}

// source reads what is left of a store.
type source interface {
	// Each calls do with every key of a table; both slices are valid only during the call.
	Each(table byte, do func(key, value []byte) error) error
	Close() error
}

// source opens the old store. Where the engine cannot read all of it, source reads the files without the engine.
func (r *repair) source(old *store.Broken) (source, error) {
	err := old.Open(carried)
	if err == nil {
		return old, nil
	}
	if !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	r.report.Salvaged = err
	return salvage(r.opt, r.report.problem)
}

// build makes the new store and checks it.
func (r *repair) build(ctx context.Context, old *store.Broken, from source) error {
	to, err := old.Beside()
	if err != nil {
		return err
	}
	b := &rebuild{repair: r, from: from, to: to, firsts: make(map[layout.Hash]layout.Seq), unused: map[nostr.ID]int64{}}
	err = b.run()
	if err == nil {
		err = r.sound(ctx, to)
	}
	if b.f != nil {
		b.f.Discard()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return kv.SyncParent(r.opt.FS, r.opt.Dir)
}

// sound checks the new store.
func (r *repair) sound(ctx context.Context, to *store.Store) error {
	v := to.View()
	defer v.Close()
	report, err := Check(ctx, v)
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("the new store is not sound: %s", report.Problems[0])
	}
	r.report.Events = report.Events
	return err
}
