package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bin knows how many bytes the entries of the trash take: nobody changes one that is there.
type bin struct {
	mu    sync.Mutex // held by who empties it
	sizes map[string]int64
}

// thrown is an entry of the trash.
type thrown struct {
	name  string
	at    time.Time
	bytes int64
}

// ShrinkTrash removes what has been in the trash for longest, until enough returns true of the bytes that the trash takes, or nothing is left.
func (d *Disk) ShrinkTrash(ctx context.Context, enough func(bytes int64) bool) error {
	d.bin.mu.Lock()
	defer d.bin.mu.Unlock()
	all, sum, err := d.weighTrash(ctx)
	if err != nil {
		return fmt.Errorf("weighing the trash: %w", err)
	}
	for _, x := range all {
		if enough(sum) {
			return nil
		}
		if err := errors.Join(context.Cause(ctx), d.dir.root.RemoveAll(trash+"/"+x.name)); err != nil {
			return fmt.Errorf("emptying the trash: %w", err)
		}
		sum -= x.bytes
	}
	return nil
}

// weighTrash returns what is in the trash, the oldest first, and what all that takes.
func (d *Disk) weighTrash(ctx context.Context) (all []thrown, sum int64, err error) {
	entries, err := d.dir.list(trash)
	if err != nil {
		return nil, 0, err
	}
	known := d.bin.sizes
	d.bin.sizes = make(map[string]int64, len(entries))
	for _, e := range entries {
		at, ok := thrownAt(e.Name())
		if !ok {
			continue
		}
		bytes, weighed := known[e.Name()]
		if !weighed {
			if bytes, err = d.weigh(ctx, trash+"/"+e.Name()); err != nil {
				return nil, 0, err
			}
		}
		d.bin.sizes[e.Name()] = bytes
		all, sum = append(all, thrown{e.Name(), at, bytes}), sum+bytes
	}
	slices.SortFunc(all, func(a, b thrown) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	return all, sum, nil
}

// thrownAt returns when an entry came into the trash; ok is false for what graspd has not put there. A repository stands there under its id, and
// files of one under that and a number.
func thrownAt(name string) (at time.Time, ok bool) {
	of, text, _ := strings.Cut(name, "-")
	of, _, _ = strings.Cut(of, ".")
	_, wrong := ParseID(of)
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), wrong == nil && err == nil
}

// weigh returns how many bytes the files below a name have. What goes meanwhile has none.
func (d *Disk) weigh(ctx context.Context, name string) (sum int64, err error) {
	err = fs.WalkDir(d.dir.root.FS(), name, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, context.Cause(ctx))
	})
	return sum, err
}
