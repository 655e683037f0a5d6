package hosting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// files knows the generation of each repository's files of refs, and lets one goroutine at a time write those of one repository.
type files struct {
	mu      sync.Mutex
	written map[nip34.Address]uint64 // of repositories whose row may still say that their files are due
	seen    map[nip34.Address]uint64 // of repositories that have their files, and whose followers have theirs
	turns
}

func (f *files) init() { f.written, f.seen = map[nip34.Address]uint64{}, map[nip34.Address]uint64{} }

func (f *files) at(of nip34.Address) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written[of]
}

func (f *files) wrote(of nip34.Address, generation uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written[of] = generation
}

// saw says that a generation of a repository is done, in its followers too.
func (f *files) saw(of nip34.Address, generation uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[of] = generation
}

// done returns the generations that saw was told of since the last call.
func (f *files) done() map[nip34.Address]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.seen
	f.seen = map[nip34.Address]uint64{}
	for of, generation := range out {
		if f.written[of] <= generation {
			delete(f.written, of)
		}
	}
	return out
}

// AwaitFiles blocks until the files of a repository are of that generation or a later one, or ctx ends.
func (h *Host) AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error {
	h.visited.add(of)
	if err := h.cfg.Kept.house(ctx, h.cfg.Store, &h.files, h.cfg.Logger, of); err != nil {
		return err
	}
	if h.files.at(of) >= generation {
		return nil
	}
	due, err := h.due(of)
	if err != nil || !due {
		return err
	}
	return h.project(ctx, of)
}

func (h *Host) due(of nip34.Address) (bool, error) {
	v := h.cfg.Store.View()
	defer v.Close()
	row, err := v.Row(refdb.DueName(of))
	return row != nil, err
}

// project writes the files of a repository's refs as the log says now.
func (h *Host) project(ctx context.Context, of nip34.Address) error {
	leave, err := h.files.enter(ctx, of)
	if err != nil {
		return err
	}
	defer leave()
	r, err := readRow(h.cfg.Store, of)
	if err != nil || r.Dir.IsZero() || h.files.at(of) >= r.Refs.Generation {
		return err
	}
	if r, err = h.peel(ctx, r); err != nil {
		return err
	}
	if err := h.cfg.Disk.Project(gitrepo.ID(r.Dir), r.Shown()); err != nil {
		return fmt.Errorf("refs of %s: %w", of, err)
	}
	h.files.wrote(of, r.Refs.Generation)
	return nil
}

// readRow returns the repository's row as of now.
func readRow(s *store.Store, of nip34.Address) (refdb.Repository, error) {
	v := s.View()
	defer v.Close()
	return refdb.Read(v, of)
}

// peel adds to the row which objects annotated tags point at, of tags that came by another way than a push to this repository.
func (h *Host) peel(ctx context.Context, r refdb.Repository) (refdb.Repository, error) {
	var unknown []gitwire.ObjectID
	for _, x := range r.Refs.Refs {
		if _, ok := r.Peeled[x.ID]; !ok && strings.HasPrefix(x.Name, "refs/tags/") {
			unknown = append(unknown, x.ID)
		}
	}
	if len(unknown) == 0 {
		return r, nil
	}
	q, err := h.cfg.Disk.Begin(gitrepo.ID(r.Dir))
	if err != nil {
		return r, err
	}
	proof, err := q.Prove(ctx, gitrepo.Proving{Tips: unknown})
	if err := errors.Join(err, q.Close()); err != nil {
		return r, err
	}
	peeled := peeledOf(unknown, proof)
	err = h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) (err error) {
		r, err = h.ledger.Peel(t.Turn, r.Of, peeled)
		return err
	})
	return r, err
}

// peeledOf returns the object that each tip points at in the end. Of a tip that is no annotated tag it has the zero id: nothing is left to find
// out about that one either.
func peeledOf(tips []gitwire.ObjectID, proof gitrepo.Proof) map[gitwire.ObjectID]gitwire.ObjectID {
	out := make(map[gitwire.ObjectID]gitwire.ObjectID, len(tips))
	for _, id := range tips {
		out[id] = proof.Peeled[id]
	}
	return out
}

// tidy writes into the rows of repositories whose files are written that these are no longer due.
func (h *Host) tidy(ctx context.Context) error {
	done := h.files.done()
	if len(done) == 0 {
		return nil
	}
	err := h.door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
		for of, generation := range done {
			if err := h.ledger.Written(t.Turn, of, generation); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
