package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/gitproc"
	"github.com/graspd/graspd/internal/gitwire"
)

// CopyInto makes a quarantine beside the repository to, puts the objects of the repository from that p.Tips need into it, and proves it.
// The caller closes the quarantine.
func (d *Disk) CopyInto(ctx context.Context, from, to ID, p Proving) (Quarantine, Proof, error) {
	q, err := d.newQuarantine(to)
	if err != nil {
		return nil, Proof{}, err
	}
	var proof Proof
	if err = q.copyFrom(ctx, from, p); err == nil {
		proof, err = q.Prove(ctx, p)
	}
	if err != nil {
		return nil, Proof{}, fmt.Errorf("copying out of repository %s: %w", from, errors.Join(err, q.Close()))
	}
	return q, proof, nil
}

// copyFrom packs what tips need, out of another repository.
func (q *quarantine) copyFrom(ctx context.Context, from ID, p Proving) error {
	there, err := q.d.dir.exists(from)
	if err != nil || !there {
		return err // what is missing, the proof says
	}
	tips, err := q.common(from, append(append([]gitwire.ObjectID(nil), p.Tips...), p.Commits...))
	if err != nil || len(tips) == 0 {
		return err
	}
	haves, err := q.common(from, p.Haves)
	if err == nil {
		haves, err = q.common(q.beside, haves)
	}
	if err != nil {
		return err
	}
	bytes, _, err := q.d.Size(from)
	if err != nil {
		return err
	}
	return q.take(ctx, func(ctx context.Context, c gitproc.Command, r gitproc.Run) error {
		r.Kind, r.Reads = gitproc.Upload, bytes
		r.At = gitproc.Dirs{Repository: q.d.dir.abs(q.dir), Alternates: []string{q.d.dir.abs(from.path() + "/objects")}}
		return q.d.run(ctx, c, r, from)
	}, tips, haves, p.Party)
}

// take packs what tips need beyond haves and beyond the repository beside the quarantine. r says in which repository git runs.
func (q *quarantine) take(ctx context.Context, run runner, tips, haves []gitwire.ObjectID, party string) error {
	var wanted []gitwire.ObjectID
	out := &lines{each: func(line []byte) error {
		id, _, err := reached(line)
		wanted = append(wanted, id)
		return err
	}}
	in := &idReader{groups: []idGroup{{ids: tips}, {prefix: "^", ids: haves}}}
	if err := run(ctx, gitproc.Reach(), gitproc.Run{Party: party, In: in, Out: out}); err != nil {
		return err
	}
	absent, err := q.d.packs.absent(q.beside, sums(wanted))
	if err != nil || len(absent) == 0 {
		return err
	}
	return q.packThese(ctx, run, absent, party)
}

// common returns those of ids that a repository has.
func (q *quarantine) common(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	missing, err := q.d.packs.lacks(repo, ids)
	if err != nil {
		return nil, err
	}
	return without(ids, missing), nil
}
