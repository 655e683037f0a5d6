// Package depot keeps the packs of repositories in an object store, where a machine's disk has copies of them. Which packs a repository has is its
// manifest, a row of the log; a Depot reads it, puts packs before a commit names them, and fetches those that a disk lacks. It never decides what a
// manifest has: hosting does, with the log's writer. Read Depot, then Put.
package depot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// Config says what a Depot works with. Objects and Rows are needed.
type Config struct {
	Objects objects.Store
	Rows    *store.Store     // which packs the repositories have
	Term    uint64           // in which packs are put; it stands in the names of their objects
	Rand    io.Reader        // of the names of objects; nil is the system's
	Now     func() time.Time // nil is time.Now
	Pause   time.Duration    // before a request is made again that failed (objects.Patient)

	// Again names the objects of a pack by what they have, so that who puts it once more finds them there. It is for whoever fills a store that
	// nobody else uses.
	Again bool
}

// Depot has the packs of all repositories. Any number of goroutines may use it.
type Depot struct {
	c Config

	mu     sync.Mutex     // guards what follows
	under  map[string]int // objects that were put and of which nothing is decided yet, by the beginnings of their names
	lately map[refdb.PackName]latest
	hurt   map[string]string // objects that were not as they were put when they were fetched last, and what is wrong with them; at most hurtKept
}

// latest is a pack that was put lately: repositories that one state rules get the same packs, one after the other.
type latest struct {
	pack refdb.Pack
	at   time.Time
}

// Bounds of what is remembered of packs that were put.
const (
	latelyFor  = 10 * time.Minute
	latelyKept = 1024
	hurtKept   = 1000
)

// New makes a Depot.
func New(c Config) *Depot {
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Objects = objects.Patient{Store: c.Objects, Wait: c.Pause}
	return &Depot{c: c, under: map[string]int{}, lately: map[refdb.PackName]latest{}, hurt: map[string]string{}}
}

// ErrUnanswered says that the object store refuses what it is asked, or does not answer, for who knows a depot alone.
var ErrUnanswered = objects.ErrUnanswered

// ErrDamaged says that an object is not what was put: it is gone, or has other bytes.
var ErrDamaged = errors.New("an object of a pack is damaged or gone")

// Manifest returns the packs of a repository, by what is durable.
func (d *Depot) Manifest(repo gitrepo.ID) (m refdb.Manifest, err error) {
	v := d.c.Rows.View()
	defer v.Close()
	err = v.ReadRow(refdb.ManifestName(refdb.Dir(repo)), func(row []byte) (err error) {
		if row != nil {
			m, err = refdb.ParseManifest(row)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the manifest of %s: %w", repo, err)
	}
	return m, nil
}

// Put puts packs, each under names that no other Put had before, for manifests to take them. One that was put a few minutes ago has the same names.
// They are there when Put returns nil. Until done is called nobody removes them, though no manifest has them.
func (d *Depot) Put(ctx context.Context, packs []gitrepo.Packed) (put []refdb.Pack, done func(), err error) {
	done = func() {
		for _, p := range put {
			d.hold(p.Object(), -1)
		}
	}
	for _, x := range packs {
		p, err := d.describe(ctx, x)
		if err != nil {
			done()
			return nil, func() {}, fmt.Errorf("putting %s into the object store: %w", x.Name, err)
		}
		p, there := d.had(p)
		put = append(put, p)
		d.hold(p.Object(), 1)
		if there {
			continue
		}
		if err := d.putFiles(ctx, x, p); err != nil {
			done()
			return nil, func() {}, fmt.Errorf("putting %s into the object store: %w", x.Name, err)
		}
		d.note(p)
	}
	return put, done, nil
}

// had returns a pack that was put lately with the same files, or p.
func (d *Depot) had(p refdb.Pack) (_ refdb.Pack, there bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.lately[p.Name]
	if !ok || d.c.Now().Sub(l.at) >= latelyFor || !slices.Equal(l.pack.Files, p.Files) {
		return p, false
	}
	return l.pack, true
}

// note remembers that a pack was put. Where there is no room, all that are remembered go.
func (d *Depot) note(p refdb.Pack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.lately) >= latelyKept {
		clear(d.lately)
	}
	d.lately[p.Name] = latest{p, d.c.Now()}
}

func (d *Depot) hold(object string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.under[object] += n; d.under[object] == 0 {
		delete(d.under, object)
	}
}

// Held reports whether objects were put of which nothing is decided yet.
func (d *Depot) Held(object string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.under[object] > 0
}

// describe reads the files of a pack, and names its objects.
func (d *Depot) describe(ctx context.Context, x gitrepo.Packed) (p refdb.Pack, err error) {
	p = refdb.Pack{Name: x.Name, Term: d.c.Term}
	if _, err := io.ReadFull(d.c.Rand, p.Random[:]); err != nil {
		return p, err
	}
	for _, suffix := range x.Suffixes {
		f := refdb.File{Suffix: suffix}
		if f.Bytes, f.Sum, err = hashFile(ctx, x, suffix); err != nil {
			return p, err
		}
		p.Files = append(p.Files, f)
	}
	if d.c.Again {
		p.Random = named(p.Files)
	}
	return p, nil
}

// named makes a name of what files have.
func named(files []refdb.File) (name [16]byte) {
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.Suffix))
		h.Write(f.Sum[:])
	}
	copy(name[:], h.Sum(nil))
	return name
}

func hashFile(ctx context.Context, x gitrepo.Packed, suffix string) (n int64, sum [sha256.Size]byte, err error) {
	f, err := x.Open(suffix)
	if err != nil {
		return 0, sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err == nil {
		sum, err = hash(ctx, f, info.Size())
	}
	return info.Size(), sum, err
}

// hash reads so many bytes.
func hash(ctx context.Context, r io.ReaderAt, n int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for at := int64(0); at < n && err == nil; at += part {
		if err = context.Cause(ctx); err == nil {
			_, err = io.Copy(h, io.NewSectionReader(r, at, min(part, n-at)))
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// putFiles puts the files of a pack, all at once.
func (d *Depot) putFiles(ctx context.Context, x gitrepo.Packed, p refdb.Pack) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, f := range p.Files {
		all.Go(func() error {
			if there, err := d.there(ctx, p, f); there || err != nil {
				return err
			}
			file, err := x.Open(f.Suffix)
			if err != nil {
				return err
			}
			_, err = d.c.Objects.Put(ctx, p.Object()+f.Suffix, io.NewSectionReader(file, 0, f.Bytes)) // nobody else has its name
			return errors.Join(err, file.Close())
		})
	}
	return all.Wait()
}

// there reports whether an object is there that is named by what it has.
func (d *Depot) there(ctx context.Context, p refdb.Pack, f refdb.File) (bool, error) {
	if !d.c.Again {
		return false, nil
	}
	info, err := d.c.Objects.Head(ctx, p.Object()+f.Suffix)
	if errors.Is(err, objects.ErrNone) {
		return false, nil
	}
	return err == nil && info.Size == f.Bytes, err
}

// Where a file is fetched: in parts of so many bytes, so many at once.
const (
	part        = 8 << 20
	partsAtOnce = 4
)

// Fetch writes a file of a pack, in parts that come at once. Where it returns nil, the file is whole and as it was put; it fails with ErrDamaged where
// the store has something else.
func (d *Depot) Fetch(ctx context.Context, p refdb.Pack, f refdb.File, to gitrepo.File) error {
	all, coming := errgroup.WithContext(ctx)
	all.SetLimit(partsAtOnce)
	for at := int64(0); at < f.Bytes && coming.Err() == nil; at += part {
		all.Go(func() error { return d.fetchPart(coming, p.Object()+f.Suffix, at, int(min(part, f.Bytes-at)), to) })
	}
	err := all.Wait()
	if err == nil {
		err = d.proves(ctx, f, to)
	}
	d.came(p.Object()+f.Suffix, err)
	if err != nil {
		return fmt.Errorf("%s%s: %w", p.Object(), f.Suffix, err)
	}
	return nil
}

// came remembers how the fetch of an object has ended.
func (d *Depot) came(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		delete(d.hurt, name)
	case errors.Is(err, ErrDamaged) && len(d.hurt) < hurtKept:
		d.hurt[name] = err.Error()
	}
}

// Damaged returns how many objects were not as they were put when somebody needed them last, and the first of these with what is wrong with it. It knows
// only what was fetched since the start.
func (d *Depot) Damaged() (n int, first string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.hurt) == 0 {
		return 0, ""
	}
	name := slices.Min(slices.Collect(maps.Keys(d.hurt)))
	return len(d.hurt), name + ": " + d.hurt[name]
}

func (d *Depot) fetchPart(ctx context.Context, name string, at int64, n int, to io.WriterAt) error {
	b, err := d.c.Objects.Get(ctx, name, at, n)
	if errors.Is(err, objects.ErrNone) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err == nil { // where the object ends too early, the hash shows it
		_, err = to.WriteAt(b, at)
	}
	return err
}

func (d *Depot) proves(ctx context.Context, f refdb.File, r io.ReaderAt) error {
	sum, err := hash(ctx, r, f.Bytes)
	if err == nil && sum != f.Sum {
		err = fmt.Errorf("%w: its hash is %s", ErrDamaged, hex.EncodeToString(sum[:]))
	}
	return err
}

// Verify reads the objects of a pack, and returns what is wrong with them, in words for the operator. With none of an error all were read.
func (d *Depot) Verify(ctx context.Context, p refdb.Pack) (problems []string, err error) {
	for _, f := range p.Files {
		name := p.Object() + f.Suffix
		info, err := d.c.Objects.Head(ctx, name)
		switch {
		case errors.Is(err, objects.ErrNone):
			problems = append(problems, fmt.Sprintf("the object %s is gone", name))
			continue
		case err != nil:
			return problems, err
		case info.Size != f.Bytes:
			problems = append(problems, fmt.Sprintf("the object %s has %d bytes, and not %d", name, info.Size, f.Bytes))
			continue
		}
		sum, err := d.hashObject(ctx, name, f.Bytes)
		if err != nil {
			return problems, err
		}
		if sum != f.Sum {
			problems = append(problems, fmt.Sprintf("the object %s is damaged", name))
		}
	}
	return problems, nil
}

func (d *Depot) hashObject(ctx context.Context, name string, n int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for at := int64(0); at < n; at += part {
		b, err := d.c.Objects.Get(ctx, name, at, int(min(part, n-at)))
		if err != nil {
			return sum, err
		}
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
