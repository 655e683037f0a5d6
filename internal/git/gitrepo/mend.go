package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Mend writes the files that follow from a repository's refs anew, and puts the files that the repository does not need into the trash.
// Mend makes no directory for a repository that has none, and of which generation the refs are, nobody knows then.
func (d *Disk) Mend(ctx context.Context, repo ID, refs *gitwire.Refs) error {
	there, err := d.dir.isDir(repo.path())
	if err != nil || !there {
		return err
	}
	if err = d.clear(ctx, repo); err == nil {
		err = d.dir.skeleton(repo.path())
	}
	if err != nil {
		return fmt.Errorf("mending repository %s: %w", repo, err)
	}
	return d.Project(repo, 0, refs)
}

// clear puts the files that a repository does not need into the trash.
func (d *Disk) clear(ctx context.Context, repo ID) error {
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	others, err := d.packs.others(ctx, repo)
	if err != nil {
		return err
	}
	names := make([]string, len(others))
	for i, o := range others {
		names[i] = o.name
	}
	return d.discard(repo, names)
}

// discard puts files of a repository into the trash. The caller holds the repository's lock.
func (d *Disk) discard(repo ID, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := d.dir.root.MkdirAll(trash, 0o700); err != nil {
		return noted(err)
	}
	for i, name := range names {
		to := fmt.Sprintf("%s/%s.%d-%d", trash, repo, i, d.now().Unix())
		if err := d.dir.root.Rename(repo.path()+"/"+name, to); err != nil {
			return noted(err)
		}
	}
	return nil
}

// Salvage copies what is sound of the damaged repository from into the new repository to. For each group of ids it copies all objects that
// the ids lead to, if none of these is missing. Salvage returns which groups it copied, and how many bytes the new repository takes. Where
// no group is sound it makes no repository. The damaged repository stays as it is.
func (d *Disk) Salvage(ctx context.Context, from, to ID, groups [][]gitwire.ObjectID) (whole []bool, bytes int64, err error) {
	dir, err := d.dir.fresh()
	if err == nil {
		if err = d.packs.linkSound(ctx, from, dir); err == nil {
			whole, bytes, err = d.copySound(ctx, dir, from, to, groups)
		}
	}
	if err = errors.Join(err, d.dir.root.RemoveAll(dir)); err != nil {
		return nil, 0, fmt.Errorf("saving what is left of repository %s: %w", from, err)
	}
	return whole, bytes, nil
}

// copySound copies the sound groups of a repository to another one. dir has links to the sound packs of the old one.
func (d *Disk) copySound(ctx context.Context, dir string, from, to ID, groups [][]gitwire.ObjectID) (whole []bool, bytes int64, err error) {
	var tips []gitwire.ObjectID
	for _, ids := range groups {
		lost := ""
		if len(ids) > 0 {
			if lost, err = d.incomplete(ctx, dir, from, ids); err != nil {
				return nil, 0, err
			}
		}
		whole = append(whole, lost == "")
		if lost == "" {
			tips = append(tips, ids...)
		}
	}
	if len(tips) == 0 {
		return whole, 0, nil
	}
	q, err := d.newQuarantine(to)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	run := func(ctx context.Context, c gitproc.Command, r gitproc.Run) error {
		r.Kind = gitproc.Maintenance
		r.At = gitproc.Dirs{Repository: d.dir.abs(q.dir), Alternates: []string{d.dir.abs(dir + "/objects")}}
		return d.run(ctx, c, r, from)
	}
	if err := q.take(ctx, run, tips, nil, ""); err != nil {
		return nil, 0, err
	}
	proof, err := q.Prove(ctx, Proving{Tips: tips})
	if err == nil {
		err = d.Admit(q, to)
	}
	return whole, proof.Bytes, err
}
