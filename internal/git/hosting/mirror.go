package hosting

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// mirror copies the tips of pull requests from a contributed repository to the announced ones that they are for (GRASP-06), within this disk.
// It reports whether everything is copied that can be.
func (h *Host) mirror(ctx context.Context, of nip34.Address, by copier) (done bool, err error) {
	var from refdb.Repository
	var to []refdb.Mirror
	err = h.reading(func(r *refdb.Reader) (err error) {
		from, to, err = r.Unmirrored(of)
		return err
	})
	done = err == nil
	for _, m := range to {
		failed := h.mirrorTo(ctx, from, m, by)
		done = done && (failed == nil || hopeless(failed))
		if errors.Is(failed, gitrepo.ErrNotLinked) {
			continue
		}
		if hopeless(failed) { // no room: only the owner of that repository can mend this
			h.refusals.add(refusal(h.cfg.Now(), m.To.Of, reasonOf(failed).text))
			failed = nil
		}
		err = errors.Join(err, failed)
	}
	return done, err
}

func (h *Host) mirrorTo(ctx context.Context, from refdb.Repository, m refdb.Mirror, by copier) (err error) {
	leave, err := h.following.enter(ctx, m.To.Of)
	if err != nil {
		return err
	}
	defer leave()
	if err := h.room(ctx, m.To); err != nil {
		return err
	}
	giveBack, err := h.begins(m.To)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			giveBack()
		}
	}()
	q, proof, err := h.cfg.Disk.CopyInto(ctx, gitrepo.ID(from.Dir), gitrepo.ID(m.To.Dir),
		gitrepo.Proving{Commits: m.Tips, Haves: m.To.Refs.All().IDs(), Party: by.party, Owner: from.Of.PubKey.String(), Linked: by.linked})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if err := h.fits(ctx, m.To, proof.Bytes); err != nil {
		return err
	}
	if _, err := h.arrive(ctx, by.party, refdb.Arrival{Of: m.To.Of, Tips: m.Events, Bytes: proof.Bytes}, q); err != nil {
		return err
	}
	return h.project(ctx, m.To.Of)
}

// nearer has the tips mirrored that a repository lacks and contributed repositories have here, and takes them out of lack, so that nobody asks
// other servers for them. A repository may have been announced after such tips came.
func (h *Host) nearer(v *store.View, lack *refdb.Lack) error {
	if !h.cfg.Contributors {
		return nil
	}
	if grasp.IsContributed(lack.Of) {
		return h.nearerContributed(v, lack)
	}
	needs := lack.Needs[:0]
	for _, n := range lack.Needs {
		from, ok, err := contributedWith(h.cfg, v, n)
		if err != nil {
			return err
		}
		if ok {
			h.copies.push(job{kind: shared, of: from})
		} else {
			needs = append(needs, n)
		}
	}
	lack.Needs = needs
	return nil
}

// contributedWith returns the contributed repository that has the tip of a served pull request. A repository whose files are lost has none.
func contributedWith(c Config, v *store.View, n refdb.Need) (of nip34.Address, ok bool, err error) {
	if !n.Tip || n.Came != 0 {
		return of, false, nil
	}
	e, ok, err := v.Get(n.Event)
	if err != nil || !ok {
		return of, false, err
	}
	for _, of := range c.Service.Contributions(e) {
		r, err := refdb.Read(v, of)
		if err != nil {
			return of, false, err
		}
		if r.Refs.PullRequests.Get(refs.TipName(n.Event)) != n.IDs[0] {
			continue
		}
		missing, err := objects{c.Disk, c.Kept, c.Logger}.Missing(v, r.Dir, n.IDs)
		if err != nil {
			return of, false, err
		}
		if len(missing) == 0 {
			return of, true, nil
		}
	}
	return of, false, nil
}
