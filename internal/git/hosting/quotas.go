package hosting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// quotas bounds what all repositories and those of each owner have. The first question reads from the rows how much that is.
type quotas struct {
	store  *store.Store
	limits atomic.Pointer[Limits]

	mu     sync.Mutex
	loaded bool
	owners map[nostr.PubKey]owned
	all    owned
}

// owned is a number of repositories with data, and the bytes that they take on disk.
type owned struct {
	repositories int
	bytes        int64
}

func (t *quotas) add(owner nostr.PubKey, repositories int, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(owner, repositories, bytes)
}

func (t *quotas) count(owner nostr.PubKey, repositories int, bytes int64) {
	if !t.loaded {
		return
	}
	o := t.owners[owner]
	o.repositories += repositories
	o.bytes += bytes
	t.owners[owner] = o
	t.all.repositories += repositories
	t.all.bytes += bytes
}

// of returns what one owner has, and what all have together.
func (t *quotas) of(owner nostr.PubKey) (theirs, all owned, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return theirs, all, err
	}
	return t.owners[owner], t.all, nil
}

// Kept returns how many repositories have data, and about how many bytes they take on disk. The first call reads all rows.
func (h *Host) Kept() (repositories int, bytes int64, err error) {
	_, all, err := h.quotas.of(nostr.PubKey{})
	return all.repositories, all.bytes, err
}

// load reads the rows of all repositories, unless it has done so before. The caller holds mu.
func (t *quotas) load() error {
	if t.loaded {
		return nil
	}
	v := t.store.View()
	defer v.Close()
	t.loaded, t.owners, t.all = true, map[nostr.PubKey]owned{}, owned{}
	err := v.EachRow(refdb.Prefix, "", func(_ string, row []byte) (bool, error) {
		r, err := refdb.Brief(row)
		if err == nil && !r.Dir.IsZero() {
			t.count(r.Of.PubKey, 1, r.Bytes)
		}
		return true, err
	})
	t.loaded = err == nil
	return err
}

// room fails with the reason where a repository may not grow at all.
func (h *Host) room(ctx context.Context, r refdb.Repository) error {
	if err := h.cfg.Store.Room(); err != nil {
		return err
	}
	if h.cfg.Room != nil {
		if err := h.cfg.Room(); err != nil {
			return err
		}
	}
	theirs, _, err := h.quotas.of(r.Of.PubKey)
	if err != nil {
		return err
	}
	if l := h.quotas.limits.Load(); r.Dir.IsZero() && theirs.repositories >= l.Repositories {
		return l.noMore()
	}
	if err := h.fits(ctx, r, 0); err != nil {
		return err
	}
	return h.crowded(r.Of, r.Dir)
}

// noMore is the error for an owner who has as many repositories as they may.
func (l Limits) noMore() reason {
	return reason{OwnerFull, fmt.Sprintf("the owner has %d repositories with data here, and may have no more: use another server for this one", l.Repositories)}
}

// countIn counts what comes to an owner's repositories, as it comes. It fails with the reason where the limits do not allow it: many pushes at
// once may all have found room before. The caller calls undo where the data did not come after all.
func (t *quotas) countIn(owner nostr.PubKey, begins bool, bytes int64) (undo func(), err error) {
	began := 0
	if begins {
		began = 1
	}
	undo = func() {}
	l := *t.limits.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return undo, err
	}
	theirs := t.owners[owner]
	switch {
	case begins && theirs.repositories >= l.Repositories:
		return undo, l.noMore()
	case bytes > 0 && theirs.bytes+bytes > l.Author:
		return undo, l.tooMuch(theirs.bytes + bytes)
	case bytes > 0 && l.Total > 0 && t.all.bytes+bytes > l.Total:
		return undo, errTotal
	}
	t.count(owner, began, bytes)
	return func() { t.add(owner, -began, -bytes) }, nil
}

func (l Limits) tooMuch(bytes int64) reason {
	return reason{OwnerFull, fmt.Sprintf("its owner's repositories would have %s, and may have %s here", size(bytes), size(l.Author))}
}

var errTotal = reason{ServerFull, "this server has as much git data as it may: push to another one, or tell its operator"}

// fits fails with the reason where a repository may not grow by so many bytes.
func (h *Host) fits(ctx context.Context, r refdb.Repository, more int64) error {
	err := h.quotas.within(r, more)
	if err == nil || r.Dir.IsZero() {
		return err
	}
	now, failed := h.recount(ctx, r)
	if failed != nil || now.Bytes == r.Bytes {
		return errors.Join(err, failed)
	}
	return h.quotas.within(now, more)
}

// recount measures what a repository takes on disk, and counts less where that is less: else nothing could come in place of lost data.
func (h *Host) recount(ctx context.Context, r refdb.Repository) (refdb.Repository, error) {
	return h.measure(ctx, r, func(bytes, counted int64) bool { return bytes < counted })
}

// measure measures what a repository takes on disk, and counts that from now on if counts says so of it and of what was counted until now. Only
// where something else is to be counted does it measure in a turn of the writer, so that nothing comes in meanwhile.
func (h *Host) measure(ctx context.Context, r refdb.Repository, counts func(bytes, counted int64) bool) (refdb.Repository, error) {
	bytes, _, err := h.cfg.Disk.Size(gitrepo.ID(r.Dir)) // before the row is read: what comes in between makes this too little, and takes a turn at worst
	now, failed := readRow(h.cfg.Store, r.Of)
	if err = errors.Join(err, failed); err != nil || now.Dir != r.Dir {
		return r, err
	}
	if bytes == now.Bytes || !counts(bytes, now.Bytes) {
		return now, nil
	}
	var more int64
	err = h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
		more = 0
		now, err := refdb.Read(t, r.Of)
		if err != nil || now.Dir != r.Dir {
			return err
		}
		bytes, _, err := h.cfg.Disk.Size(gitrepo.ID(r.Dir))
		if r.Bytes = now.Bytes; err != nil || !counts(bytes, now.Bytes) {
			return err
		}
		more, r.Bytes = bytes-now.Bytes, bytes
		return h.ledger.Resized(t.Turn, r.Of, bytes)
	})
	if err != nil {
		return r, err
	}
	h.quotas.add(r.Of.PubKey, 0, more)
	return r, nil
}

// within fails like fits, by what is counted here and in the row.
func (t *quotas) within(r refdb.Repository, more int64) error {
	l := *t.limits.Load()
	theirs, all, err := t.of(r.Of.PubKey)
	switch {
	case err != nil:
		return err
	case r.Bytes+more > l.Repository:
		return reason{RepositoryFull, fmt.Sprintf("the repository would have %s, and may have %s here", size(r.Bytes+more), size(l.Repository))}
	case theirs.bytes+more > l.Author:
		return l.tooMuch(theirs.bytes + more)
	case l.Total > 0 && all.bytes+more > l.Total:
		return errTotal
	}
	return nil
}

func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
