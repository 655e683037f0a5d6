package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Subset makes a quarantine beside the repository that the quarantine of is beside, puts the objects of that one which p.Tips need into it,
// and proves it. The caller closes the quarantine.
func (d *Disk) Subset(ctx context.Context, of Quarantine, p Proving) (Quarantine, Proof, error) {
	whole, ok := of.(*quarantine)
	if !ok || whole.d != d || whole.closed {
		return nil, Proof{}, errors.New("part of a quarantine: there is no such quarantine")
	}
	q, err := d.newQuarantine(whole.beside)
	if err != nil {
		return nil, Proof{}, err
	}
	q.owner, q.heavy = whole.owner, whole.heavy
	var proof Proof
	if err = q.copyOf(ctx, whole, p); err == nil {
		proof, err = q.Prove(ctx, p)
	}
	if err != nil {
		return nil, Proof{}, fmt.Errorf("part of a quarantine: %w", errors.Join(err, q.Close()))
	}
	return q, proof, nil
}

// copyOf packs what tips need out of another quarantine beside the same repository.
func (q *quarantine) copyOf(ctx context.Context, whole *quarantine, p Proving) error {
	haves, err := q.common(q.beside, p.Haves)
	if err != nil {
		return err
	}
	return q.take(ctx, func(ctx context.Context, c gitproc.Command, r gitproc.Run) error {
		r.Kind, r.Owner, r.Heavy, r.Reads = gitproc.Upload, q.owner, q.heavy, whole.Bytes()
		r.At = gitproc.Dirs{Repository: q.d.dir.abs(q.dir), Alternates: []string{q.d.dir.abs(whole.dir + "/objects")}}
		there, err := q.d.dir.exists(q.beside)
		if err != nil {
			return err
		}
		if there {
			r.At.Alternates = append(r.At.Alternates, q.d.dir.abs(q.beside.path()+"/objects"))
		}
		return q.d.run(ctx, c, r, q.beside)
	}, append(append([]gitwire.ObjectID(nil), p.Tips...), p.Commits...), haves, p.Party)
}
