package gitfake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func (f *Fake) CopyInto(ctx context.Context, from, to gitrepo.ID, p gitrepo.Proving) (gitrepo.Quarantine, gitrepo.Proof, error) {
	if err := f.call("CopyInto", from); err != nil {
		return nil, gitrepo.Proof{}, err
	}
	f.mu.Lock()
	all := f.here(from)
	f.mu.Unlock()
	return f.copyOf(ctx, all, to, p)
}

func (f *Fake) Subset(ctx context.Context, of gitrepo.Quarantine, p gitrepo.Proving) (gitrepo.Quarantine, gitrepo.Proof, error) {
	whole, ok := of.(*quarantine)
	if !ok || whole.f != f || whole.closed {
		return nil, gitrepo.Proof{}, errors.New("part of a quarantine: there is no such quarantine")
	}
	if err := f.call("Part", whole.beside); err != nil {
		return nil, gitrepo.Proof{}, err
	}
	return f.copyOf(ctx, whole.objects, whole.beside, p)
}

// copyOf makes a proven quarantine of what tips need of some objects.
func (f *Fake) copyOf(ctx context.Context, all objects, to gitrepo.ID, p gitrepo.Proving) (gitrepo.Quarantine, gitrepo.Proof, error) {
	made, err := f.Begin(to)
	if err != nil {
		return nil, gitrepo.Proof{}, err
	}
	q := made.(*quarantine)
	f.mu.Lock()
	q.objects = objects{}
	for id := range all.closure(append(slices.Clone(p.Tips), p.Commits...), nil) {
		q.objects[id] = all[id]
	}
	f.mu.Unlock()
	proof, err := q.Prove(ctx, p)
	if err != nil {
		return nil, gitrepo.Proof{}, errors.Join(err, q.Close())
	}
	return q, proof, nil
}

func (f *Fake) Remove(repo gitrepo.ID) error {
	if err := f.call("Remove", repo); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.repos, repo)
	return nil
}

func (f *Fake) Check(_ context.Context, repo gitrepo.ID, refs *gitwire.Refs) (found gitrepo.Findings, err error) {
	if err := f.call("Check", repo); err != nil {
		return found, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		if len(refs.List) > 0 {
			found.Data = append(found.Data, "there is no such directory")
		}
		return found, nil
	}
	if r.refs.Head != refs.Head || !slices.Equal(r.refs.List, refs.List) {
		found.Refs = append(found.Refs, "the refs are not what the log says")
	}
	for _, ref := range refs.List {
		r.objects.closure([]gitwire.ObjectID{ref.ID}, func(id gitwire.ObjectID) {
			found.Data = append(found.Data, fmt.Sprintf("object %s is missing", id))
		})
	}
	return found, nil
}

// Maintain makes one pack of many. It lets nothing go, as time does not pass here.
func (f *Fake) Maintain(_ context.Context, repo gitrepo.ID, _ *gitwire.Refs, _ []gitwire.ObjectID, _ gitrepo.Swap) (did bool, err error) {
	if err := f.call("Maintain", repo); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok || r.packs <= 8 && (r.packs < 2 || r.clones < 2) {
		return false, nil
	}
	r.packs, r.clones = 1, 0
	return true, nil
}

// Sweep removes what nobody knows, as everything here is old.
func (f *Fake) Sweep(_ context.Context, known func(gitrepo.ID) bool) error {
	if err := f.call("Sweep", gitrepo.ID{}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for repo := range f.repos {
		if !known(repo) {
			delete(f.repos, repo)
		}
	}
	return nil
}

// ShrinkTrash finds no trash.
func (f *Fake) ShrinkTrash(context.Context, func(bytes int64) bool) error {
	return f.call("ShrinkTrash", gitrepo.ID{})
}

// Copy copies nothing.
func (f *Fake) Copy(context.Context, string) error { return f.call("Copy", gitrepo.ID{}) }
