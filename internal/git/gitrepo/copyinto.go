package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// CopyInto makes a quarantine beside the repository to, puts the objects of the repository from that p.Tips need into it, and proves it. Where a
// pack has just these it is linked, which takes no disk; else git makes one, which counts as much work. The caller closes the quarantine.
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
	q.owner, q.cpu = p.Owner, unpackTime(bytes)
	run := func(ctx context.Context, c gitproc.Command, r gitproc.Run) error {
		r.Kind, r.Owner, r.Heavy, r.Reads, r.CPU = gitproc.Upload, q.owner, q.heavy, bytes, q.cpu
		r.At = gitproc.Dirs{Repository: q.d.dir.abs(q.dir), Alternates: []string{q.d.dir.abs(from.path() + "/objects")}}
		return q.d.run(ctx, c, r, from)
	}
	absent, err := q.lacked(ctx, run, tips, haves, p.Party)
	if err != nil || len(absent) == 0 {
		return err
	}
	if linked, err := q.linkFrom(from, absent); linked || err != nil {
		return err
	}
	if p.Linked {
		return ErrNotLinked
	}
	q.heavy = true
	return q.packThese(ctx, run, absent, p.Party)
}

// linkFrom links a pack of another repository into the quarantine, and reports whether there is one that fits: it has all that is absent beside the
// quarantine, and nothing else that is.
func (q *quarantine) linkFrom(from ID, absent []sum) (bool, error) {
	defer q.d.inUse.read(from)() // so that no pack goes meanwhile
	names, err := q.d.packs.names(from)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		at := from.path() + "/objects/pack/" + name
		if fits, err := q.fits(at+".idx", absent); err != nil {
			return false, err
		} else if fits {
			q.pack = name
			return true, errors.Join(q.d.dir.link(at+".pack", q.file(".pack")), q.d.dir.link(at+".idx", q.file(".idx")))
		}
	}
	return false, nil
}

// fits reports whether a pack has all that is absent beside the quarantine, and nothing else that is.
func (q *quarantine) fits(idx string, absent []sum) (fits bool, err error) {
	x, err := q.d.dir.openIndex(idx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, x.file.Close()) }()
	if x.len() < len(absent) {
		return false, nil
	}
	if lacks, err := x.rest(absent); err != nil || len(lacks) > 0 {
		return false, err
	}
	all, err := x.all()
	if err == nil {
		all, err = q.d.packs.absent(q.beside, all)
	}
	return len(all) == len(absent), err
}

// take packs what tips need beyond haves and beyond the repository beside the quarantine. run says in which repository git runs.
func (q *quarantine) take(ctx context.Context, run runner, tips, haves []gitwire.ObjectID, party string) error {
	absent, err := q.lacked(ctx, run, tips, haves, party)
	if err != nil || len(absent) == 0 {
		return err
	}
	return q.packThese(ctx, run, absent, party)
}

// lacked returns what tips need beyond haves and beyond the repository beside the quarantine, in order.
func (q *quarantine) lacked(ctx context.Context, run runner, tips, haves []gitwire.ObjectID, party string) ([]sum, error) {
	var wanted []gitwire.ObjectID
	out := &lines{each: func(line []byte) error {
		id, _, err := reached(line)
		wanted = append(wanted, id)
		return err
	}}
	in := &idReader{groups: []idGroup{{ids: tips}, {prefix: "^", ids: haves}}}
	if err := run(ctx, gitproc.Reach(), gitproc.Run{Party: party, In: in, Out: out}); err != nil {
		return nil, err
	}
	return q.d.packs.absent(q.beside, sums(wanted))
}

// common returns those of ids that a repository has.
func (q *quarantine) common(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	missing, err := q.d.packs.lacks(repo, ids)
	if err != nil {
		return nil, err
	}
	return without(ids, missing), nil
}
