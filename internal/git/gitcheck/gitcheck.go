// Package gitcheck proves that the git data of a relay which does not run is what the log says, and mends it as far as the log and the disk
// allow. Read Check, then Repair.
package gitcheck

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Config says what to look at. Nobody else may use the store and the disk meanwhile.
type Config struct {
	Store    *store.Store // Check reads it, Repair writes it
	Disk     *gitrepo.Disk
	Depot    *depot.Depot          // for Check; nil: objects of packs that lie in an object store are not read
	Progress func(done, all int64) // hears how many repositories are done; may be nil
	Rand     io.Reader             // names of new directories; for Repair
	Now      func() time.Time      // for Repair
}

// Report says what Check found.
type Report struct {
	Repositories int64 // with data
	Refs         int64
	Bytes        int64    // of packs
	Behind       int64    // repositories whose files are older than their refs, as the log knows: the next start writes them
	Unshown      int64    // pull requests without a ref though their commits are here: Repair adds them
	Elsewhere    int64    // repositories whose packs lie in an object store; the disk has copies of them, which are not looked at
	Unnamed      int64    // directories of no repository: a killed push left them, and graspd removes them when it runs
	Problems     []string // at most maxProblems of them
	More         bool     // there were more problems than that
}

const maxProblems = 100

func (r *Report) problem(of fmt.Stringer, text string) {
	if len(r.Problems) == maxProblems {
		r.More = true
		return
	}
	r.Problems = append(r.Problems, fmt.Sprintf("repository %s: %s", safetext.Printable(of.String()), text))
}

// Check compares every repository's row of refs with the stored events and with the directory, reads all packs, and proves that everything is
// there that refs lead to. It changes nothing. An error means that it could not read something.
func Check(ctx context.Context, c Config) (Report, error) {
	r, err := c.check(ctx)
	if err != nil {
		return r, fmt.Errorf("git data: %w", err)
	}
	return r, nil
}

func (c Config) check(ctx context.Context) (out Report, err error) {
	v := c.Store.View()
	defer v.Close()
	known, err := c.each(ctx, v, func(r refdb.Repository, due bool) error {
		_, said, err := c.row(v, r)
		if err != nil {
			return err
		}
		f, err := c.look(ctx, r, due)
		if err != nil {
			return err
		}
		lost, err := c.objects(ctx, v, r, &out)
		if err != nil {
			return err
		}
		for _, text := range slices.Concat(said, lost, f.All()) {
			out.problem(r.Of, text)
		}
		some, err := c.unshown(ctx, v, r)
		if err != nil {
			return err
		}
		_, n := shows(r, some)
		out.Unshown += n
		return c.count(r, due, &out)
	})
	if err != nil {
		return out, err
	}
	lost, unnamed, err := c.unnamed(ctx, v, known)
	if err != nil {
		return out, err
	}
	out.Unnamed = unnamed
	for _, x := range lost {
		out.problem(x.Of, fmt.Sprintf("the log has lost which directory is its own; it is %s, by the state %.8s", gitrepo.ID(x.Dir), x.Refs.ID))
	}
	return out, eachStray(v, func(_ string, of nip34.Address) { out.problem(of, "its files are due, and the log does not know it") })
}

// objects reads the objects of a repository's packs, and says what is wrong with them.
func (c Config) objects(ctx context.Context, v *store.View, r refdb.Repository, out *Report) (lost []string, err error) {
	m, err := refdb.ReadManifest(v, r.Dir)
	if err != nil || len(m) == 0 {
		return nil, err
	}
	out.Elsewhere++
	out.Bytes += m.Bytes()
	if c.Depot == nil {
		return nil, nil
	}
	for _, p := range m {
		some, err := c.Depot.Verify(ctx, p)
		if err != nil {
			return nil, err
		}
		lost = append(lost, some...)
	}
	return lost, nil
}

// keptElsewhere reports whether the packs of a repository lie in an object store.
func (c Config) keptElsewhere(r refdb.Repository) (bool, error) {
	v := c.Store.View()
	defer v.Close()
	m, err := refdb.ReadManifest(v, r.Dir)
	return len(m) > 0, err
}

func (c Config) count(r refdb.Repository, due bool, out *Report) error {
	if r.Dir.IsZero() {
		return nil
	}
	out.Repositories++
	out.Refs += int64(len(r.Refs.All()))
	if due {
		out.Behind++
	}
	if is, err := c.keptElsewhere(r); is || err != nil {
		return err
	}
	bytes, _, err := c.Disk.Size(gitrepo.ID(r.Dir))
	out.Bytes += bytes
	return err
}

// look checks the directory of one repository, unless that is a copy of what lies in an object store. Where files are due it leaves out what is wrong with the files of refs.
func (c Config) look(ctx context.Context, r refdb.Repository, due bool) (f gitrepo.Findings, err error) {
	shown := r.Shown()
	if r.Dir.IsZero() {
		if len(shown.List) > 0 {
			f.Data = append(f.Data, "it has refs and no directory")
		}
		return f, nil
	}
	if is, err := c.keptElsewhere(r); is || err != nil {
		return f, err
	}
	if f, err = c.Disk.Check(ctx, gitrepo.ID(r.Dir), shown); due {
		f.Refs = nil
	}
	return f, err
}

// each calls do with every repository that the log knows, and whether its files are due. It returns the directories of all.
func (c Config) each(ctx context.Context, v *store.View, do func(r refdb.Repository, due bool) error) (map[gitrepo.ID]bool, error) {
	var all, done int64
	if err := v.EachRow(refdb.Prefix, "", func(string, []byte) (bool, error) { all++; return true, ctx.Err() }); err != nil {
		return nil, err
	}
	known := map[gitrepo.ID]bool{}
	return known, v.EachRow(refdb.Prefix, "", func(name string, row []byte) (bool, error) {
		r, err := refdb.Parse(row)
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		due, err := v.Row(refdb.DueName(r.Of))
		if err != nil {
			return false, err
		}
		if id := gitrepo.ID(r.Dir); !id.IsZero() {
			known[id] = true
		}
		if err := do(r, due != nil); err != nil {
			return false, err
		}
		if done++; c.Progress != nil {
			c.Progress(done, all)
		}
		return true, context.Cause(ctx)
	})
}

// eachStray calls do with each row that says that files are due, of a repository that the log does not know.
func eachStray(v *store.View, do func(name string, of nip34.Address)) error {
	return v.EachRow(refdb.DuePrefix, "", func(name string, value []byte) (bool, error) {
		of, err := grasp.ParseHosted(string(value))
		if err != nil {
			return false, fmt.Errorf("row %s: %w", name, err)
		}
		row, err := v.Row(refdb.RowName(of))
		if err == nil && row == nil {
			do(name, of)
		}
		return true, err
	})
}
