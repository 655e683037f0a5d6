package hosting

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// AwaitFiles blocks until the files of a repository are of that generation or a later one, or ctx ends. The repository is looked at soon, as somebody
// fetches from it.
func (h *Host) AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error {
	h.visited.add(of)
	if behind, err := h.behind(of, generation); err != nil || !behind {
		return err
	}
	return h.project(ctx, of)
}

// project writes the files of a repository's refs as the log says now, which knows the objects of tags then.
func (h *Host) project(ctx context.Context, of nip34.Address) error {
	leave, err := h.writing.enter(ctx, of)
	if err != nil {
		return err
	}
	defer leave()
	r, err := readRow(h.cfg.Store, of)
	if err != nil || r.Dir.IsZero() {
		return err
	}
	if r, err = h.peel(ctx, r); err != nil {
		return err
	}
	return h.write(ctx, r)
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

// settled has the generations of repositories that are done: their files are written, and those that follow them have the same. Their rows may still
// say otherwise.
type settled struct {
	mu   sync.Mutex
	seen map[nip34.Address]uint64
}

// saw says that a generation of a repository is done.
func (s *settled) saw(of nip34.Address, generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[nip34.Address]uint64{}
	}
	s.seen[of] = generation
}

// take returns what saw was told since the last call.
func (s *settled) take() map[nip34.Address]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.seen
	s.seen = nil
	return out
}

// tidy writes into the rows of repositories that are done that nothing of them is due.
func (h *Host) tidy(ctx context.Context) error {
	done := h.settled.take()
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
