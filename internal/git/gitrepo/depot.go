package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Depot says which packs the repositories have, and has their files: directories are a cache then, and what lies there besides counts for nothing.
// Any number of goroutines may use it.
type Depot interface {
	// Manifest returns the packs of a repository, by what is durable; none of one that has none.
	Manifest(repo ID) (refdb.Manifest, error)
	// Fetch writes a file of a pack. Where it returns nil, the file is whole and as it was put.
	Fetch(ctx context.Context, p refdb.Pack, f refdb.File, to File) error
}

// File is what Fetch writes, and reads again. Several goroutines may write parts of it at once.
type File interface {
	io.WriterAt
	io.ReaderAt
}

// ErrAbsent says that the index of a pack is not on this disk, so that nobody can tell which objects the repository has.
var ErrAbsent = errors.New("the index of a pack is not on this disk")

// Packed is the files of a pack on this disk.
type Packed struct {
	Name     refdb.PackName
	Suffixes []string // in the order of refdb.Suffixes

	In fs.FS  // where the files are
	At string // the beginning of their names there
}

// Open opens one of the files.
func (p Packed) Open(suffix string) (*os.File, error) {
	f, err := p.In.Open(p.At + suffix)
	if err != nil {
		return nil, err
	}
	file, is := f.(*os.File)
	if !is {
		return nil, errors.Join(fmt.Errorf("%s%s is no file on a disk", p.At, suffix), f.Close())
	}
	return file, nil
}

// packed returns the files of a pack that lies in a directory.
func (d *directory) packed(dir, name string) (Packed, error) {
	n, err := refdb.ParsePackName(name)
	p := Packed{Name: n, In: d.root.FS(), At: dir + "/" + name}
	for _, suffix := range refdb.Suffixes {
		there := false
		if err == nil {
			there, err = d.isFile(p.At + suffix)
		}
		if there {
			p.Suffixes = append(p.Suffixes, suffix)
		}
	}
	if err == nil && (len(p.Suffixes) < 2 || p.Suffixes[0] != ".pack" || p.Suffixes[len(p.Suffixes)-1] != ".idx") {
		err = fmt.Errorf("%s is not whole: it has %q", p.At, p.Suffixes)
	}
	return p, err
}

// Packs returns the files of the pack that the quarantine has; none where the repository beside it has all objects.
func (q *quarantine) Packs() ([]Packed, error) {
	if q.pack == "" {
		return nil, nil
	}
	p, err := q.d.dir.packed(q.dir+"/objects/pack", q.pack)
	if err != nil {
		return nil, err
	}
	p.Suffixes = []string{".pack", ".idx"} // what Admit links
	return []Packed{p}, nil
}

// BeginWith makes a quarantine beside a repository, with a pack from the depot, or with none. The caller closes the quarantine.
func (l *Local) BeginWith(ctx context.Context, repo ID, packs refdb.Manifest) (Quarantine, error) {
	if len(packs) > 1 {
		return nil, fmt.Errorf("quarantine: it cannot take %d packs", len(packs))
	}
	q, err := l.d.newQuarantine(repo)
	if err != nil {
		return nil, err
	}
	for _, p := range packs {
		if err := q.fetch(ctx, p); err != nil {
			return nil, fmt.Errorf("quarantine: %w", errors.Join(noted(err), q.Close()))
		}
	}
	return q, nil
}

// fetch brings a pack from the depot.
func (q *quarantine) fetch(ctx context.Context, p refdb.Pack) error {
	q.pack = p.Name.String()
	for _, f := range p.Files {
		to, err := q.d.dir.root.Create(q.file(f.Suffix))
		if err != nil {
			return err
		}
		if err := errors.Join(q.d.depot.Fetch(ctx, p, f, to), to.Close()); err != nil {
			return err
		}
	}
	_, err := q.measure()
	return err
}

// Packed returns the packs that the directory of a repository has, whatever a depot says.
func (d *Disk) Packed(repo ID) (all []Packed, err error) {
	old, err := d.packs.gone(repo)
	if err != nil {
		return nil, err
	}
	dir := repo.path() + "/objects/pack"
	entries, err := d.dir.list(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range packNames(entries) {
		if slices.Contains(old, name) {
			continue
		}
		p, err := d.dir.packed(dir, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// There reports whether a repository has a directory with files of refs on this disk.
func (d *Disk) There(repo ID) (bool, error) {
	there, err := d.dir.exists(repo)
	if err == nil && there {
		there, err = d.dir.isFile(repo.path() + "/packed-refs")
	}
	return there, err
}

// Local returns the part of the depot that is on this disk; nil without a depot.
func (d *Disk) Local() *Local { return d.local }

// manifestNames returns the names of the packs of a manifest, as git has them.
func manifestNames(m refdb.Manifest) []string {
	names := make([]string, len(m))
	for i, p := range m {
		names[i] = p.Name.String()
	}
	return names
}

// MissingAmong is Missing where a repository has the packs of a manifest and no others. It fails with ErrAbsent where the index of one is not on
// this disk.
func (l *Local) MissingAmong(repo ID, m refdb.Manifest, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	d := l.d
	d.confirmed.swap.RLock()
	defer d.confirmed.swap.RUnlock()
	if repo.IsZero() || len(ids) == 0 {
		return slices.Clone(ids), nil
	}
	missing, err := d.packs.absentAmong(repo, manifestNames(m), sums(ids))
	if err != nil {
		return nil, err
	}
	left := amongSums(ids, missing)
	if len(left) < len(ids) {
		d.confirmed.note(repo, without(ids, left), d.now())
	}
	return left, nil
}

// absentAmong returns those of sums, which are sorted, that are not in packs of these names.
func (p *packs) absentAmong(repo ID, names []string, sums []sum) (missing []sum, err error) {
	err = p.indexes.use(repo, func(set *packSet) (err error) {
		missing = sums
		for _, name := range names {
			i := slices.IndexFunc(set.packs, func(x *index) bool { return x.name == name })
			if i < 0 {
				return fmt.Errorf("%w: %s", ErrAbsent, name)
			}
			if missing, err = set.packs[i].rest(missing); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", repo, err)
	}
	return missing, nil
}
