package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// quarantine is a repository under construction: its objects are its own, and those of the repository beside it are read.
type quarantine struct {
	d      *Disk
	beside ID
	next   neighbour
	dir    string
	bytes  atomic.Int64

	pack  string        // the name of its only pack; ""
	cpu   time.Duration // of the processor, for a process that looks at a pack which somebody sent; 0: no bound, for our own packs
	owner string        // for whom the processes work
	heavy bool          // the pack that came is much work
	long  bool          // it is more work than a slot is kept for
	// besideBytes is how many bytes the packs of the repository beside have; 0 is not known.
	besideBytes int64
	proven      bool
	closed      bool
	// needs are the objects of the repository beside the quarantine on which proven objects build. Who has them has all that they lead to.
	needs      []gitwire.ObjectID
	needsOther bool // more than needs names
}

// Begin makes a quarantine beside a repository, or beside none. The caller closes the quarantine.
func (d *Disk) Begin(repo ID) (Quarantine, error) { return d.newQuarantine(repo) }

// newQuarantine is Begin for callers in this package.
func (d *Disk) newQuarantine(repo ID) (*quarantine, error) {
	dir, err := d.dir.fresh()
	if err != nil {
		return nil, fmt.Errorf("quarantine: %w", errors.Join(err, d.dir.root.RemoveAll(dir)))
	}
	return &quarantine{d: d, beside: repo, dir: dir, next: d.inUse.beside(repo)}, nil
}

func (q *quarantine) Bytes() int64 { return q.bytes.Load() }

func (q *quarantine) Close() error {
	if q.closed {
		return nil
	}
	if err := q.d.dir.root.RemoveAll(q.dir); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	q.closed = true
	q.next.end()
	q.bytes.Store(0)
	return nil
}

// file is the path of a file of its pack.
func (q *quarantine) file(suffix string) string { return q.dir + "/objects/pack/" + q.pack + suffix }

// run runs git in the quarantine, where it also finds the objects of the repository beside.
func (q *quarantine) run(ctx context.Context, c gitproc.Command, r gitproc.Run) error {
	there, err := q.d.packs.known(q.beside)
	if err != nil {
		return err
	}
	if there {
		r.At.Alternates = []string{q.d.dir.abs(q.beside.path() + "/objects")}
	}
	return q.runAlone(ctx, c, r)
}

// runAlone runs git where it finds the objects of the quarantine alone, and those of the alternates that r has.
func (q *quarantine) runAlone(ctx context.Context, c gitproc.Command, r gitproc.Run) (err error) {
	r.Kind, r.CPU, r.Owner, r.Heavy, r.Long = gitproc.Upload, cmp.Or(r.CPU, q.cpu), q.owner, q.heavy, q.long
	r.At.Repository = q.d.dir.abs(q.dir)
	if r.Reads, err = q.reads(); err != nil {
		return err
	}
	if err = q.d.run(ctx, c, r, q.beside); q.heavy {
		return heavyError(err)
	}
	return err
}

// reads returns how many bytes the packs have that git reads in the quarantine.
func (q *quarantine) reads() (int64, error) {
	if q.besideBytes == 0 && !q.beside.IsZero() {
		bytes, _, err := q.d.Size(q.beside)
		if err != nil {
			return 0, err
		}
		q.besideBytes = bytes
	}
	return q.besideBytes + q.bytes.Load(), nil
}

// run runs git, and keeps the packs of the repository that git reads until it ends; the zero ID is none.
func (d *Disk) run(ctx context.Context, c gitproc.Command, r gitproc.Run, reads ID) error {
	if !reads.IsZero() {
		end, err := d.reading(ctx, reads, fair.Party{Network: r.Party, Owner: r.Owner})
		if err != nil {
			return err
		}
		defer end()
	}
	return gitError(d.git.Run(ctx, c, r))
}

// measure counts the bytes of the pack's files.
func (q *quarantine) measure() (int64, error) {
	var bytes int64
	if q.pack != "" {
		for _, suffix := range []string{".pack", ".idx"} {
			info, err := q.d.dir.root.Stat(q.file(suffix))
			if err != nil {
				return 0, err
			}
			bytes += info.Size()
		}
	}
	q.bytes.Store(bytes)
	return bytes, nil
}

// dropPack removes the pack.
func (q *quarantine) dropPack() error {
	if q.pack == "" {
		return nil
	}
	err := q.d.dir.removeFiles(q.file(".idx"), q.file(".pack"))
	q.pack = ""
	return err
}

// sums are the ids of all objects in the pack, in order.
func (q *quarantine) sums() ([]sum, error) {
	if q.pack == "" {
		return nil, nil
	}
	x, err := q.d.dir.openIndex(q.file(".idx"))
	if err != nil {
		return nil, err
	}
	all, err := x.all()
	return all, errors.Join(err, x.file.Close())
}
