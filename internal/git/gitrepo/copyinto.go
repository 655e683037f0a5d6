package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/graspd/graspd/internal/base/fair"
	"io/fs"

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
	if p.Linked {
		if may, err := q.mayLink(from, tips); err != nil || !may {
			return cmp.Or(err, ErrNotLinked)
		}
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
	if linked, err := q.linkFrom(ctx, from, absent); linked || err != nil {
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
func (q *quarantine) linkFrom(ctx context.Context, from ID, absent []sum) (bool, error) {
	end, err := q.d.reading(ctx, from, fair.Party{Owner: q.owner}) // so that no pack goes meanwhile
	if err != nil {
		return false, err
	}
	defer end()
	names, err := q.d.packs.names(from)
	if err != nil {
		return false, err
	}
	name, err := q.find(from, names, func(x *index) (bool, error) { return q.fits(x, absent) })
	if name == "" || err != nil {
		return false, err
	}
	at := from.path() + "/objects/pack/" + name
	q.pack = name
	return true, errors.Join(q.d.dir.link(at+".pack", q.file(".pack")), q.d.dir.link(at+".idx", q.file(".idx")))
}

// mayLink reports whether linkFrom may find a pack once it is known what tips need: one pack has those that are absent beside the quarantine, and it is
// the only one where nothing is beside the quarantine.
func (q *quarantine) mayLink(from ID, tips []gitwire.ObjectID) (bool, error) {
	defer q.d.inUse.read(from)()
	absent, err := q.d.packs.absent(q.beside, sums(tips))
	if err != nil || len(absent) == 0 {
		return true, err
	}
	has, err := q.d.packs.names(q.beside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	names, err := q.d.packs.names(from)
	if err != nil || len(has) == 0 && len(names) > 1 {
		return false, err
	}
	name, err := q.find(from, names, func(x *index) (bool, error) {
		lacks, err := x.rest(absent)
		return len(lacks) == 0, err
	})
	return name != "", err
}

// find returns the first of some packs of another repository that fits; "" where none does.
func (q *quarantine) find(from ID, names []string, fits func(*index) (bool, error)) (string, error) {
	for _, name := range names {
		x, err := q.d.dir.openIndex(from.path() + "/objects/pack/" + name + ".idx")
		if err != nil {
			return "", err
		}
		found, err := fits(x)
		if err = errors.Join(err, x.file.Close()); err != nil {
			return "", err
		}
		if found {
			return name, nil
		}
	}
	return "", nil
}

// fits reports whether a pack has all that is absent beside the quarantine, and nothing else that is.
func (q *quarantine) fits(x *index, absent []sum) (bool, error) {
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
