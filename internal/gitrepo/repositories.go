package gitrepo

import (
	"context"
	"io"

	"github.com/graspd/graspd/internal/gitwire"
)

// Repositories is what a Disk does.
type Repositories interface {
	// Missing returns those ids that are not in the repository's packs, in their order. It starts no process.
	Missing(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Begin makes a quarantine beside a repository, whose objects what comes in may build on; the zero ID: beside none.
	Begin(repo ID) (Quarantine, error)
	// Admit makes what is proven in a quarantine the repository's, which begins to exist with it. The quarantine stays, and may
	// be admitted into others that have what it builds on. What was admitted before is admitted again without harm.
	Admit(q Quarantine, repo ID) error
	// CopyInto makes a quarantine beside a repository of what tips need of another one, and proves it.
	CopyInto(ctx context.Context, from, to ID, p Proving) (Quarantine, Proof, error)
	// Part makes a quarantine beside the same repository as another one, of what some of its tips need, and proves it.
	Part(ctx context.Context, of Quarantine, p Proving) (Quarantine, Proof, error)
	// Project writes the refs and HEAD. Objects that they name must be here.
	Project(repo ID, refs *gitwire.Refs) error
	// Pack writes the pack of a fetch whose work is [gitwire.WorkPack], without frames.
	Pack(ctx context.Context, repo ID, f *gitwire.Fetch, party string, out io.Writer) error
	// Upload writes what upload-pack answers a fetch whose work is [gitwire.WorkUpload]; [gitwire.Fetch.CopyAnswer] makes of
	// that what the client hears.
	Upload(ctx context.Context, repo ID, q gitwire.Request, party string, out io.Writer) error
	// Sizes returns the sizes of objects in bytes, in the order of the ids; below 0 for one that is not here.
	Sizes(ctx context.Context, repo ID, ids []gitwire.ObjectID, party string) ([]int64, error)
	// Size returns how much a repository takes of the disk, and its packs; 0 for one that is not here.
	Size(repo ID) (bytes, packs int64, err error)
	// Remove takes a repository away from all readers. It stays in the trash for 30 days.
	Remove(repo ID) error
	// Check returns what is wrong with a repository that is to have these refs.
	Check(ctx context.Context, repo ID, refs *gitwire.Refs) (Findings, error)
	// Maintain makes a repository quick to fetch from again, if that is due, which it finds out in no time. What neither refs nor
	// keep lead to goes two weeks after something did. It returns whether it did anything.
	Maintain(ctx context.Context, repo ID, refs *gitwire.Refs, keep []gitwire.ObjectID) (did bool, err error)
	// Sweep empties the trash of what is in it for long, and puts directories into it that nobody knows and that are there for a day.
	Sweep(ctx context.Context, known func(ID) bool) error
	// Copy copies all repositories to another directory while they are used.
	Copy(ctx context.Context, to string) error
}

// Quarantine is where objects wait outside of all repositories until something makes them one's. One goroutine at a time uses it.
type Quarantine interface {
	// Receive reads a pack to its end. It fails with a [*PackError] for what is wrong with the pack. A quarantine takes one
	// pack, and none where all is here already.
	Receive(ctx context.Context, pack io.Reader, r Receiving) (Received, error)
	// Prove proves that all that tips lead to is in the quarantine or the repository beside it, else it fails with a
	// [*MissingError], or with a [*PackError] where a tip cannot be what it is to be. What tips do not need is dropped, and
	// what is left is durable. A proof that fails drops nothing, and another one may be tried.
	Prove(ctx context.Context, p Proving) (Proof, error)
	// Bytes is how much of the disk it takes; any goroutine may ask.
	Bytes() int64
	// Close drops it.
	Close() error
}

// Receiving says what a pack may be.
type Receiving struct {
	MaxBytes   int64 // 512 MiB if 0
	MaxObjects int64 // a million if 0
	Party      string
	Owner      string                  // for whom the work is
	Grown      func(bytes int64) error // nil, or told how much came in so far; its error ends the transfer
}

// Received is what came in.
type Received struct {
	Objects int64 // with those that deltas of the pack build on and that were here
	Bytes   int64
}

// Proving says what is to be proven.
type Proving struct {
	Tips    []gitwire.ObjectID // of any type
	Commits []gitwire.ObjectID // tips that must be commits
	Haves   []gitwire.ObjectID // what the repository has, to walk no further; others are not regarded
	Party   string
}

// Proof is what was proven.
type Proof struct {
	Objects, Bytes int64                                 // what is kept: 0 if all is in the repository
	Peeled         map[gitwire.ObjectID]gitwire.ObjectID // what the annotated tags among the tips are about in the end
}

var _ Repositories = (*Disk)(nil)
