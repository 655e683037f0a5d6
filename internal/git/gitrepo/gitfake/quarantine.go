package gitfake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

type quarantine struct {
	f      *Fake
	beside gitrepo.ID
	bytes  atomic.Int64

	objects  objects // guarded by f.mu, as the rest
	received bool
	proven   bool
	closed   bool
	needs    []gitwire.ObjectID
}

func (f *Fake) Begin(repo gitrepo.ID) (gitrepo.Quarantine, error) {
	if err := f.call("Begin", repo); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open++
	return &quarantine{f: f, beside: repo}, nil
}

func (q *quarantine) Bytes() int64 { return q.bytes.Load() }

// Packs returns none: there are no files.
func (q *quarantine) Packs() ([]gitrepo.Packed, error) { return nil, nil }

func (q *quarantine) Close() error {
	if err := q.f.call("Close", q.beside); err != nil {
		return err
	}
	q.f.mu.Lock()
	defer q.f.mu.Unlock()
	if !q.closed {
		q.f.open--
	}
	q.closed = true
	q.bytes.Store(0)
	return nil
}

func (q *quarantine) Receive(ctx context.Context, pack io.Reader, r gitrepo.Receiving) (gitrepo.Received, error) {
	if err := q.f.call("Receive", q.beside); err != nil {
		return gitrepo.Received{}, err
	}
	q.f.mu.Lock()
	no := q.closed || q.proven || q.received
	q.f.mu.Unlock()
	if no {
		return gitrepo.Received{}, errors.New("quarantine: it takes no other pack")
	}
	b, err := q.read(ctx, pack, r)
	if err != nil {
		return gitrepo.Received{}, fmt.Errorf("receiving a pack: %w", err)
	}
	if r.Whole != nil {
		r.Whole()
	}
	all, n, err := parsePack(b)
	if err != nil {
		return gitrepo.Received{}, err
	}
	if r.MaxObjects > 0 && n > r.MaxObjects {
		return gitrepo.Received{}, &gitrepo.PackError{Text: "the pack has too many objects", ByLimit: true}
	}
	q.f.mu.Lock()
	defer q.f.mu.Unlock()
	q.objects, q.received = all, n > 0
	return gitrepo.Received{Objects: n, Bytes: q.measure()}, nil
}

// read reads a pack within its bounds.
func (q *quarantine) read(ctx context.Context, pack io.Reader, r gitrepo.Receiving) ([]byte, error) {
	var b []byte
	buf := make([]byte, 4096)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := pack.Read(buf)
		b = append(b, buf[:n]...)
		if r.MaxBytes > 0 && int64(len(b)) > r.MaxBytes {
			return nil, &gitrepo.PackError{Text: "the pack is larger than one push may be", ByLimit: true}
		}
		q.bytes.Store(int64(len(b)))
		if r.Grown != nil && n > 0 {
			if err := r.Grown(int64(len(b))); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// measure counts what is in it.
func (q *quarantine) measure() (n int64) {
	for _, o := range q.objects {
		n += o.size()
	}
	q.bytes.Store(n)
	return n
}

func (q *quarantine) Prove(_ context.Context, p gitrepo.Proving) (gitrepo.Proof, error) {
	if err := q.f.call("Prove", q.beside); err != nil {
		return gitrepo.Proof{}, err
	}
	q.f.mu.Lock()
	defer q.f.mu.Unlock()
	if q.closed {
		return gitrepo.Proof{}, errors.New("quarantine: it is closed")
	}
	q.proven = false
	proof, err := q.proveTips(append(slices.Clone(p.Tips), p.Commits...), p.Commits)
	q.proven = err == nil
	return proof, err
}

func (q *quarantine) proveTips(tips, commits []gitwire.ObjectID) (gitrepo.Proof, error) {
	here := q.f.here(q.beside)
	all := maps.Clone(here)
	if all == nil {
		all = objects{}
	}
	maps.Copy(all, q.objects)
	var lacks []gitwire.ObjectID
	reached := all.closure(tips, func(id gitwire.ObjectID) { lacks = append(lacks, id) })
	if len(lacks) > 0 {
		slices.SortFunc(lacks, gitwire.ObjectID.Compare)
		return gitrepo.Proof{}, fmt.Errorf("proving: %w", &gitrepo.MissingError{IDs: lacks[:min(10, len(lacks))]})
	}
	for _, id := range commits {
		if kind := all[id].kind; kind != "commit" {
			return gitrepo.Proof{}, &gitrepo.PackError{NotCommit: id, Text: fmt.Sprintf("%s is a %s, and must be a commit", id, kind)}
		}
	}
	if tip, ok := all.tooDeep(tips); ok && len(q.objects) > 0 {
		return gitrepo.Proof{}, &gitrepo.PackError{Text: fmt.Sprintf("tag %s names a tag that names a tag and so on", tip)}
	}
	kept := objects{}
	q.needs = nil
	for id := range reached {
		if _, ok := here[id]; ok {
			q.needs = append(q.needs, id)
		} else {
			kept[id] = all[id]
		}
	}
	q.objects = kept
	return gitrepo.Proof{Objects: int64(len(kept)), Bytes: q.measure(), Peeled: all.peel(tips)}, nil
}

// peel follows tags to what they are about in the end.
func (all objects) peel(tips []gitwire.ObjectID) map[gitwire.ObjectID]gitwire.ObjectID {
	peeled := map[gitwire.ObjectID]gitwire.ObjectID{}
	for _, tip := range tips {
		at := all[tip]
		for at.kind == "tag" {
			at = all[at.needs[0]]
		}
		if at.id != tip {
			peeled[tip] = at.id
		}
	}
	return peeled
}

// tooDeep returns a tip from which more than eight tags lead to an object.
func (all objects) tooDeep(tips []gitwire.ObjectID) (tip gitwire.ObjectID, ok bool) {
	for _, tip := range tips {
		n := 0
		for at := all[tip]; at.kind == "tag"; at = all[at.needs[0]] {
			n++
		}
		if n > 8 {
			return tip, true
		}
	}
	return tip, false
}
