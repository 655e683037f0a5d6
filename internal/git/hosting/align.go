package hosting

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// copier says for whom data is copied between repositories of this disk.
type copier struct {
	party  string // who pays for git's processes
	linked bool   // only packs that can be linked as they are, which takes next to nothing: the rest is left to a job
}

// align copies from one repository to the others that the same state rules what they lack, within this disk. It reports whether everything is
// copied that can be.
func (h *Host) align(ctx context.Context, of nip34.Address, by copier) (done bool, err error) {
	var from refdb.Repository
	var others []refdb.Repository
	err = h.reading(func(r *refdb.Reader) (err error) {
		from, others, err = r.Followers(of)
		return err
	})
	done = err == nil
	for _, to := range others {
		failed := h.follow(ctx, from, to, by)
		done = done && (failed == nil || hopeless(failed))
		if errors.Is(failed, gitrepo.ErrNotLinked) {
			continue
		}
		err = errors.Join(err, failed)
	}
	return done, err
}

// follow copies the objects that a state names from a repository that it rules into another one, which the state rules from then on.
func (h *Host) follow(ctx context.Context, from, to refdb.Repository, by copier) (err error) {
	leave, err := h.following.enter(ctx, to.Of)
	if err != nil {
		return err
	}
	defer leave()
	if err := h.room(ctx, to); err != nil {
		return err
	}
	giveBack, err := h.begins(to)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			giveBack()
		}
	}()
	q, proof, err := h.cfg.Disk.CopyInto(ctx, gitrepo.ID(from.Dir), gitrepo.ID(to.Dir),
		gitrepo.Proving{Tips: from.Refs.Refs.IDs(), Haves: to.Refs.All().IDs(), Party: by.party, Owner: from.Of.PubKey.String(), Linked: by.linked})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if err := h.fits(ctx, to, proof.Bytes); err != nil {
		return err
	}
	if _, err := h.arrive(ctx, by.party, refdb.Arrival{Of: to.Of, Peeled: from.Peeled, Bytes: proof.Bytes}, q); err != nil {
		return err
	}
	h.counts.followed.Add(1)
	return h.project(ctx, to.Of)
}
