package gitcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Repaired says what a repair has done.
type Repaired struct {
	Rows   int64 // repositories whose row of refs was made anew from the stored events
	Files  int64 // repositories whose files were made anew from the log
	Tips   int64 // pull requests that got the ref that they lacked
	Found  int64 // repositories whose lost rows were made anew from the stored events and their files
	Report       // its problems say what is lost and has to be pushed again
}

// Repair does something about all that Check finds. It makes files anew from the log. Where objects are missing or damaged it makes a new
// directory with what is whole of the repository, and puts the old one into the trash. A state or a tip that has lost objects is out of
// force in the log until everything that it leads to has been pushed again. The next start copies what other repositories here have of the
// lost objects. A repair that is interrupted can be begun again.
func Repair(ctx context.Context, c Config) (Repaired, error) {
	r := repair{Config: c, hurt: map[string]map[nip34.Address]bool{}}
	if err := r.run(ctx); err != nil {
		return r.out, fmt.Errorf("git data: %w", err)
	}
	return r.out, nil
}

type repair struct {
	Config
	out  Repaired
	hurt map[string]map[nip34.Address]bool // repositories that lost something, by identifier
}

func (c *repair) run(ctx context.Context) error {
	v := c.Store.View()
	defer v.Close()
	known, err := c.each(ctx, v, func(r refdb.Repository, due bool) error { return c.one(ctx, v, r, due) })
	if err != nil {
		return err
	}
	if err := c.forget(v); err != nil {
		return err
	}
	lost, _, err := c.unnamed(ctx, v, known)
	if err != nil {
		return err
	}
	for _, r := range lost {
		if err := c.adopt(ctx, r); err != nil {
			return err
		}
	}
	return c.rouse(ctx, v)
}

// forget removes the rows that eachStray finds.
func (c *repair) forget(v *store.View) error {
	var stray []string
	err := eachStray(v, func(name string, _ nip34.Address) { stray = append(stray, name) })
	if err != nil || len(stray) == 0 {
		return err
	}
	return store.Update(c.Store, func(b *store.Batch) error {
		for _, name := range stray {
			if err := b.SetRow(name, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// one repairs one repository.
func (c *repair) one(ctx context.Context, v *store.View, r refdb.Repository, due bool) error {
	to, said, err := c.row(v, r)
	if err != nil {
		return err
	}
	if len(said) > 0 {
		r, due = to, true
		r.Moved = c.Now().Unix()
		c.out.Rows++
		if err := store.Update(c.Store, func(b *store.Batch) error { return r.Write(b, true) }); err != nil {
			return err
		}
	}
	f, err := c.look(ctx, r, due)
	if err != nil {
		return err
	}
	if len(f.Data) == 0 && len(f.All()) > 0 {
		if err := c.Disk.Mend(ctx, gitrepo.ID(r.Dir), r.Shown()); err != nil {
			return err
		}
		c.out.Files++
		if f, err = c.look(ctx, r, due); err != nil { // git can look at the data only now that the files are mended
			return err
		}
	}
	if len(f.Data) == 0 {
		return c.show(ctx, v, r)
	}
	return c.salvage(ctx, r)
}

// show gives pull requests the refs that they lack, where everything is there that these lead to.
func (c *repair) show(ctx context.Context, v *store.View, r refdb.Repository) error {
	some, err := c.unshown(ctx, v, r)
	if err != nil {
		return err
	}
	r, n := shows(r, some)
	if n == 0 {
		return nil
	}
	if f, err := c.look(ctx, r, true); err != nil || len(f.Data) > 0 {
		return err
	}
	r.Moved = c.Now().Unix()
	c.out.Tips += n
	return store.Update(c.Store, func(b *store.Batch) error { return r.Write(b, true) })
}

// salvage copies what is whole of a repository into a new directory, and removes the old one.
func (c *repair) salvage(ctx context.Context, r refdb.Repository) error {
	id, err := gitrepo.NewID(c.Rand)
	if err != nil {
		return err
	}
	groups := [][]gitwire.ObjectID{r.Refs.Refs.IDs()}
	for _, x := range r.Refs.PullRequests {
		groups = append(groups, []gitwire.ObjectID{x.Tip})
	}
	whole, bytes, err := c.Disk.Salvage(ctx, gitrepo.ID(r.Dir), id, groups)
	if err != nil {
		return err
	}
	left := r
	left.Dir, left.Bytes = refdb.Dir{}, bytes
	if bytes > 0 {
		left.Dir = refdb.Dir(id)
	}
	if c.lose(&left, whole) {
		if c.hurt[r.Of.D] == nil {
			c.hurt[r.Of.D] = map[nip34.Address]bool{}
		}
		c.hurt[r.Of.D][r.Of] = true
	} else {
		c.out.Files++
	}
	if err := store.Update(c.Store, func(b *store.Batch) error {
		if err := b.SetRow(refdb.DueName(r.Of), nil); err != nil {
			return err
		}
		return left.Write(b, true)
	}); err != nil {
		return err
	}
	if r.Dir.IsZero() {
		return nil
	}
	// A directory without a HEAD counts for no repository, and Remove would leave it.
	return errors.Join(c.Disk.Mend(ctx, gitrepo.ID(r.Dir), &gitwire.Refs{}), c.Disk.Remove(gitrepo.ID(r.Dir)))
}

// lose takes refs whose objects are missing out of a row, notes each as a problem, and reports whether there are any. whole tells it of each
// group of refs: the first is that of the ruling state, the others are the pull requests.
func (c *repair) lose(r *refdb.Repository, whole []bool) (lost bool) {
	r.Refs.Generation++
	r.Moved = c.Now().Unix()
	if !whole[0] {
		c.out.problem(r.Of, fmt.Sprintf("data is missing that the state %.8s names: push its branches and tags again", r.Refs.ID))
		r.Refs.Ruling, r.Peeled = refs.Ruling{}, nil
	}
	var tips refs.Pulls
	for i, x := range r.Refs.PullRequests {
		if whole[i+1] {
			tips = append(tips, x)
		} else {
			c.out.problem(r.Of, fmt.Sprintf("data is missing of %s: push it again", x.Name()))
		}
	}
	r.Refs.PullRequests = tips
	return slices.Contains(whole, false)
}

// adopt writes the lost row of a repository again, and mends its files.
func (c *repair) adopt(ctx context.Context, r refdb.Repository) error {
	f, err := c.look(ctx, r, true)
	if err != nil {
		return err
	}
	if len(f.Data) > 0 {
		c.out.problem(r.Of, fmt.Sprintf("the log has lost which directory is its own, and the one that it may be is damaged: push everything again (%s)", f.Data[0]))
		return nil
	}
	if len(f.All()) > 0 {
		if err := c.Disk.Mend(ctx, gitrepo.ID(r.Dir), r.Shown()); err != nil {
			return err
		}
	}
	c.out.Found++
	return store.Update(c.Store, func(b *store.Batch) error { return r.Write(b, true) })
}

// rouse has the next start look at the repositories that may have what others with the same identifier have lost.
func (c *repair) rouse(ctx context.Context, v *store.View) error {
	if len(c.hurt) == 0 {
		return nil
	}
	var names []string
	var values [][]byte
	err := v.EachRow(refdb.Prefix, "", func(_ string, row []byte) (bool, error) {
		r, err := refdb.Parse(row)
		if hurt := c.hurt[r.Of.D]; err == nil && len(hurt) > 0 && !hurt[r.Of] && !r.Dir.IsZero() {
			names, values = append(names, refdb.DueName(r.Of)), append(values, []byte(r.Of.String()))
		}
		return true, errors.Join(err, context.Cause(ctx))
	})
	if err != nil {
		return err
	}
	return store.Update(c.Store, func(b *store.Batch) error {
		for i, name := range names {
			if err := b.SetRow(name, values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
