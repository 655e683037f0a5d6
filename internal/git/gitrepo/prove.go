package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// maxNeeds bounds how many objects of the repository beside it a quarantine names that it builds on.
const maxNeeds = 1 << 16

func (q *quarantine) Prove(ctx context.Context, p Proving) (Proof, error) {
	if q.closed {
		return Proof{}, errors.New("quarantine: it is closed")
	}
	q.proven = false
	proof, err := q.proveObjects(ctx, p)
	q.proven = err == nil
	if err != nil {
		return Proof{}, fmt.Errorf("proving: %w", err)
	}
	return proof, nil
}

func (q *quarantine) proveObjects(ctx context.Context, p Proving) (Proof, error) {
	c := &content{}
	var err error
	if c.all, err = q.sums(); err != nil {
		return Proof{}, err
	}
	tips, err := q.split(c, p.all())
	if err == nil && len(tips.missing) > 0 {
		err = missing(tips.missing)
	}
	if err != nil {
		return Proof{}, err
	}
	haves, err := q.split(&content{}, p.Haves)
	if err != nil {
		return Proof{}, err
	}
	q.needs, q.needsOther = append(haves.inRepo, tips.inRepo...), false
	q.long = q.long || len(p.Tips)+len(p.Commits) > fewTips
	peeled, err := q.look(ctx, c, p, haves.inRepo)
	if err != nil {
		return Proof{}, err
	}
	if q.pack != "" {
		if err := q.tidy(ctx, c, p.Party); err != nil {
			return Proof{}, err
		}
	}
	return q.proof(peeled)
}

// fewTips is how many tips may be proven in the slot that is kept for who has little.
const fewTips = 64

// all are the tips and the commits.
func (p Proving) all() []gitwire.ObjectID { return slices.Concat(p.Tips, p.Commits) }

// look finds the types of the tips, walks from them to the objects that the repository has, and marks the objects of the pack on the way. The
// walk tells which tips are commits, so that mostly it is the only process.
func (q *quarantine) look(ctx context.Context, c *content, p Proving, haves []gitwire.ObjectID) (map[gitwire.ObjectID]gitwire.ObjectID, error) {
	x, err := q.describe(ctx, p.Tips, p.Party)
	if err != nil {
		return nil, err
	}
	peeled, err := x.peeled(p.Tips, q.pack != "")
	if err != nil {
		return nil, err
	}
	commits := map[gitwire.ObjectID]bool{}
	if q.pack != "" && len(p.all()) > 0 {
		if commits, err = q.reach(ctx, c, p, haves); err != nil {
			return nil, err
		}
	}
	if err := x.allCommits(p.Commits); err != nil {
		return nil, err
	}
	if x, err = q.describe(ctx, x.unknown(p.Commits, commits), p.Party); err != nil {
		return nil, err
	}
	return peeled, x.allCommits(p.Commits)
}

// proof makes the objects that are left durable, and counts them.
func (q *quarantine) proof(peeled map[gitwire.ObjectID]gitwire.ObjectID) (Proof, error) {
	if q.pack != "" {
		if err := q.d.dir.sync(q.file(".pack"), q.file(".idx")); err != nil {
			return Proof{}, err
		}
	}
	left, err := q.sums()
	if err != nil {
		return Proof{}, err
	}
	bytes, err := q.measure()
	return Proof{Objects: int64(len(left)), Bytes: bytes, Peeled: peeled}, err
}

// content is the objects of the pack, and which of them something leads to.
type content struct {
	all     []sum // in order
	reached []bool
}

func (c *content) find(s sum) (int, bool) { return slices.BinarySearchFunc(c.all, s, sum.compare) }

// located are ids, by where the objects are.
type located struct{ inPack, inRepo, missing []gitwire.ObjectID }

// split tells where objects are.
func (q *quarantine) split(c *content, ids []gitwire.ObjectID) (p located, err error) {
	var others []gitwire.ObjectID
	for _, id := range ids {
		s, ok := sumOf(id)
		if ok {
			_, ok = c.find(s)
		}
		if ok {
			p.inPack = append(p.inPack, id)
		} else {
			others = append(others, id)
		}
	}
	if p.missing, err = q.d.packs.lacks(q.beside, others); err != nil {
		return located{}, err
	}
	p.inRepo = without(others, p.missing)
	return p, nil
}

// reach walks from the tips to the objects that the repository has, and marks the objects of the pack on the way. It returns which of p.Commits
// it has found to be commits: those that haves do not lead to.
func (q *quarantine) reach(ctx context.Context, c *content, p Proving, haves []gitwire.ObjectID) (map[gitwire.ObjectID]bool, error) {
	c.reached = make([]bool, len(c.all))
	commits := make(map[gitwire.ObjectID]bool, len(p.Commits))
	for _, id := range p.Commits {
		commits[id] = false
	}
	var others []gitwire.ObjectID
	out := &lines{each: func(line []byte) error {
		id, commit, err := reached(line)
		if err != nil {
			return err
		}
		if _, tip := commits[id]; tip && commit {
			commits[id] = true
		}
		s, _ := sumOf(id)
		if at, ok := c.find(s); ok {
			c.reached[at] = true
			return nil
		}
		q.need(id)
		if others = append(others, id); len(others) < othersAtOnce {
			return nil
		}
		err = q.stays(others)
		others = others[:0]
		return err
	}}
	in := &idReader{groups: []idGroup{{ids: p.all()}, {prefix: "^", ids: haves}}}
	err := q.run(ctx, gitproc.Reach(), gitproc.Run{Party: p.Party, In: in, Out: out})
	if err == nil {
		return commits, q.stays(others)
	}
	return nil, q.whyUnreached(c, err)
}

// reached reads a line of gitproc.Reach.
func reached(line []byte) (id gitwire.ObjectID, commit bool, err error) {
	line, commit = bytes.CutPrefix(line, []byte("commit "))
	id, err = gitwire.ParseObjectID(line)
	return id, commit, err
}

// othersAtOnce is how many objects that are not in the pack reach looks up at once.
const othersAtOnce = 256

// stays fails where the repository does not have one of these objects: git finds them also in packs that the repository has given up.
func (q *quarantine) stays(ids []gitwire.ObjectID) error {
	lacks, err := q.d.packs.lacks(q.beside, ids)
	if err != nil || len(lacks) == 0 {
		return err
	}
	return missing(lacks)
}

var anyID = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// whyUnreached tells which objects git did not find.
func (q *quarantine) whyUnreached(c *content, err error) error {
	var failed *gitproc.Error
	if !errors.As(err, &failed) || failed.Ending != gitproc.Exited || errors.Is(err, ErrNoSpace) {
		return packError(err)
	}
	var named []gitwire.ObjectID
	for _, text := range anyID.FindAllString(failed.Stderr, -1) {
		if id, err := gitwire.ParseObjectID(text); err == nil && !slices.Contains(named, id) {
			named = append(named, id)
		}
	}
	at, other := q.split(c, named)
	if other != nil {
		return other
	}
	if len(at.missing) > 0 {
		return missing(at.missing)
	}
	return packError(err)
}

// tidy keeps the objects of the pack that the repository lacks: the pack as it came, if all others in it are in the repository.
func (q *quarantine) tidy(ctx context.Context, c *content, party string) error {
	absent, err := q.d.packs.absent(q.beside, c.all)
	if err != nil {
		return err
	}
	wanted, whole := c.choose(absent)
	for at, id := range c.all {
		_, lacks := slices.BinarySearchFunc(absent, id, sum.compare)
		if !lacks && c.reached[at] != whole { // it goes with the pack, or comes along with it
			q.need(id.id())
		}
	}
	switch {
	case len(wanted) == 0:
		return q.dropPack()
	case whole:
		return nil
	}
	old := q.pack
	if err := q.packThese(ctx, q.run, wanted, party); err != nil {
		return err
	}
	kept := q.pack
	if q.pack = old; kept != old {
		err = q.dropPack()
	}
	q.pack = kept
	return err
}

// choose returns those absent objects that something leads to, and whether the pack may stay as it came.
func (c *content) choose(absent []sum) (wanted []sum, whole bool) {
	for _, s := range absent {
		if at, ok := c.find(s); ok && c.reached[at] {
			wanted = append(wanted, s)
		}
	}
	return wanted, len(wanted) == len(absent) && len(wanted) > 0
}

// need notes an object of the repository beside the quarantine: the quarantine builds on it, or its pack has the object without what that
// leads to.
func (q *quarantine) need(id gitwire.ObjectID) {
	if len(q.needs) < maxNeeds {
		q.needs = append(q.needs, id)
	} else {
		q.needsOther = true
	}
}

// packThese makes a pack of objects and makes it the quarantine's.
func (q *quarantine) packThese(ctx context.Context, run runner, wanted []sum, party string) error {
	ids := make([]gitwire.ObjectID, len(wanted))
	for i, s := range wanted {
		ids[i] = s.id()
	}
	var out brief
	err := run(ctx, gitproc.PackThese(q.d.dir.abs(q.dir)+"/objects/pack/pack"),
		gitproc.Run{Party: party, In: &idReader{groups: []idGroup{{ids: ids}}}, Out: &out})
	if err != nil {
		return packError(err)
	}
	name, err := gitwire.ParseObjectID(trimLine(out.b))
	if err != nil {
		return fmt.Errorf("the name of a pack: %w", err)
	}
	q.pack = "pack-" + name.String()
	return nil
}

type runner func(context.Context, gitproc.Command, gitproc.Run) error
