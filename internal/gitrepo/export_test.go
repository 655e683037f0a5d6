package gitrepo

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/graspd/graspd/internal/gitwire"
)

// BeforeChange has a function called before each change of a file.
func (d *Disk) BeforeChange(do func()) { d.dir.changes = do }

// BeforeSync has a function called before each file or directory is made durable.
func (d *Disk) BeforeSync(do func(name string)) { d.dir.syncs = do }

// BeforeRead has a function called before a directory, the index of a pack, or which packs are gone, is read, and before a file is copied.
func (d *Disk) BeforeRead(do func(name string)) { d.dir.reads = do }

// Reading counts a reader of a repository until end.
func (d *Disk) Reading(repo ID) (end func()) { return d.live.read(repo) }

// Locked reports whether somebody changes files of a repository.
func (d *Disk) Locked(repo ID) bool {
	r := d.live.hold(repo)
	defer d.live.release(repo, r)
	if !r.change.TryLock() {
		return true
	}
	r.change.Unlock()
	return false
}

// Silent reports whether nobody is told at the moment which objects are here.
func (d *Disk) Silent() bool {
	if !d.promises.swap.TryRLock() {
		return true
	}
	d.promises.swap.RUnlock()
	return false
}

// Walked is what of a quarantine's pack a walk through it finds on the way from tips, and what the tags among them are about; ByGit is
// what git finds. What the repository has is left out of both. Without a pack that is walked here ok is false.
func Walked(from Quarantine, p Proving) (reached []gitwire.ObjectID, peeled map[gitwire.ObjectID]gitwire.ObjectID, ok bool, err error) {
	q := from.(*quarantine)
	c := &content{}
	if c.all, err = q.sums(); err != nil {
		return nil, nil, false, err
	}
	w, err := q.walk(c, append(slices.Clone(p.Tips), p.Commits...))
	if err != nil {
		return nil, nil, false, notWalked(err)
	}
	peeled, err = w.describe(p)
	return q.found(c), peeled, true, err
}

func notWalked(err error) error {
	if errors.Is(err, errWalk) {
		return nil
	}
	return err
}

// ByGit is as Walked.
func ByGit(ctx context.Context, from Quarantine, p Proving) (reached []gitwire.ObjectID, peeled map[gitwire.ObjectID]gitwire.ObjectID, err error) {
	q := from.(*quarantine)
	c := &content{}
	if c.all, err = q.sums(); err != nil {
		return nil, nil, err
	}
	p.Tips = append(slices.Clone(p.Tips), p.Commits...)
	haves, err := q.split(&content{}, p.Haves)
	if err == nil {
		err = q.reach(ctx, c, p, haves.beside)
	}
	if err != nil {
		return nil, nil, err
	}
	peeled, err = q.describe(ctx, p)
	return q.found(c), peeled, err
}

func (q *quarantine) found(c *content) (ids []gitwire.ObjectID) {
	absent, err := q.d.packs.absent(q.beside, c.all)
	if err != nil {
		panic(err)
	}
	for _, s := range absent {
		if at, ok := c.find(s); ok && c.reached[at] {
			ids = append(ids, s.id())
		}
	}
	return ids
}

// WalkPack walks through a pack of which nobody knows anything, from each of its objects.
func WalkPack(raw []byte, ids []gitwire.ObjectID, places []uint32) (walked int) {
	p := newPackFile(raw, &content{all: sums(ids)}, places)
	for n := range places {
		kind, err := p.kind(n)
		if err != nil {
			continue
		}
		if text, err := p.content(n); err == nil {
			if kind == blobObject {
				walked++
			} else if _, err := named(nil, kind, text); err == nil {
				walked++
			}
		}
	}
	return walked
}

// PackOf is what WalkPack takes.
func PackOf(from Quarantine) (raw []byte, ids []gitwire.ObjectID, places []uint32, err error) {
	q := from.(*quarantine)
	c := &content{}
	if c.all, err = q.sums(); err != nil {
		return nil, nil, nil, err
	}
	p, err := q.readPack(c)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, s := range c.all {
		ids = append(ids, s.id())
	}
	return p.raw, ids, p.places, nil
}

// Heavy reports whether a pack is much work.
func Heavy(pack io.Reader) bool { return heavy(pack) }
