package hosting

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// KeepUp keeps this disk in line with a store that another node writes, until ctx ends: indexes of packs come as manifests get them, so that this node
// may begin to write at any time, packs go that no manifest has any more, and so do directories of which no row knows. Nothing is decided by what is here
// meanwhile, and files of refs are written for whoever reads them.
func (r *Reader) KeepUp(ctx context.Context) error {
	look, sweep := time.NewTicker(lookEvery), time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	f := following{Reader: r, all: true, may: true}
	for ctx.Err() == nil {
		more := f.take(ctx)
		select {
		case <-more:
		case <-look.C:
			f.may = true
			f.report("packs on this disk", r.cfg.Kept.shrink())
			f.report("the trash", r.cfg.Disk.ShrinkTrash(ctx, func(int64) bool { return r.cfg.Room == nil || r.cfg.Room() == nil }))
		case <-sweep.C:
			f.report("repositories that have gone", f.sweep(ctx))
		case <-ctx.Done():
		}
	}
	return nil
}

// following is what KeepUp has seen. Where memory does not reach back far enough, or something failed, it looks at all repositories, once a minute at most.
type following struct {
	*Reader
	at       uint64 // the number of the last change that it has seen
	all, may bool   // all are to be looked at, and may be now
}

// take looks at the repositories whose packs have changed since the last call.
func (f *following) take(ctx context.Context) (more <-chan struct{}) {
	names, at, all, more := f.cfg.Store.Changes(f.at)
	f.at, f.all = at, f.all || all
	if f.cfg.Kept == nil {
		return more
	}
	if f.all && f.may {
		err := f.cfg.Kept.keepAll(ctx, f.cfg.Store)
		f.report("packs on this disk", err)
		f.all, f.may = err != nil, false
	}
	for _, name := range names {
		text, is := strings.CutPrefix(name, refdb.ManifestPrefix)
		if !is {
			continue
		}
		dir, err := refdb.ParseDir(text)
		if err == nil {
			err = f.cfg.Kept.keep(ctx, f.cfg.Store, dir)
		}
		f.report("packs on this disk", err)
		f.all = f.all || err != nil
	}
	return more
}

// sweep removes directories that no row names.
func (f *following) sweep(ctx context.Context) error {
	known := map[refdb.Dir]bool{}
	v := f.cfg.Store.View()
	err := v.EachRow(refdb.Prefix, "", func(_ string, row []byte) (bool, error) {
		_, dir, err := refdb.Head(row)
		known[dir] = true
		return ctx.Err() == nil, err
	})
	v.Close()
	if err != nil || ctx.Err() != nil {
		return err
	}
	return f.cfg.Disk.Sweep(ctx, func(id gitrepo.ID) bool { return known[refdb.Dir(id)] })
}

// report logs an error, unless it is that of a context that has ended.
func (f *following) report(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		f.cfg.Logger.Warn("git data on this disk cannot be kept in order", "part", what, "error", err)
	}
}
