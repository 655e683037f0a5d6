package gitrepo

import (
	"context"
	"io"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Repositories are the operations on repositories. Disk carries them out with git; a fake does in simulated worlds.
type Repositories interface {
	// Missing returns those ids that are not in the repository's packs, in their order. Missing starts no process.
	Missing(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Lacks is Missing for who acts at once: an object that Lacks does not return may go the next moment.
	Lacks(repo ID, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Unreached returns those of ids, which are here, that are commits or annotated tags and to which no ref leads.
	Unreached(ctx context.Context, repo ID, ids []gitwire.ObjectID, party string) ([]gitwire.ObjectID, error)
	// Begin makes a quarantine beside a repository, whose objects the incoming pack may build on. With the zero ID the quarantine is beside
	// none.
	Begin(repo ID) (Quarantine, error)
	// Prepare makes the directory of a repository that Admit is to make, as that takes long. Who has no use for the repository after all calls
	// unneeded, which removes it with what was admitted.
	Prepare(repo ID) (unneeded func() error, err error)
	// Admit moves the proven objects of a quarantine into the repository, and makes the repository if there is none. The quarantine stays:
	// the caller may admit it into other repositories too that have the objects it builds on. Admitting twice does no harm.
	Admit(q Quarantine, repo ID) error
	// CopyInto makes a quarantine beside the repository to, puts the objects of the repository from that p.Tips need into it, and proves
	// it.
	CopyInto(ctx context.Context, from, to ID, p Proving) (Quarantine, Proof, error)
	// Subset makes a quarantine beside the repository that the quarantine of is beside, puts the objects of that one which p.Tips need into
	// it, and proves it.
	Subset(ctx context.Context, of Quarantine, p Proving) (Quarantine, Proof, error)
	// Project writes the files of refs and HEAD, with the generation of these refs. Objects that they name must be here.
	Project(repo ID, generation uint64, refs *gitwire.Refs) error
	// Generation returns the generation that Project wrote last; 0 where nobody knows it, or where there is no such repository.
	Generation(repo ID) (uint64, error)
	// Pack writes the pack of a fetch whose work is [gitwire.WorkPack], without frames of side-band.
	Pack(ctx context.Context, repo ID, f *gitwire.Fetch, party string, out io.Writer) error
	// Upload writes upload-pack's answer to a fetch whose work is [gitwire.WorkUpload]. [gitwire.Fetch.CopyAnswer] makes the client's
	// answer of that.
	Upload(ctx context.Context, repo ID, q gitwire.Request, party string, out io.Writer) error
	// Archive writes the files of a commit as a .tar.gz, within a directory of that name.
	Archive(ctx context.Context, repo ID, commit gitwire.ObjectID, name, party string, out io.Writer) error
	// Sizes returns the sizes of objects in bytes, in the order of the ids; below 0 for one that is not here.
	Sizes(ctx context.Context, repo ID, ids []gitwire.ObjectID, party string) ([]int64, error)
	// Size returns how many bytes of the disk a repository takes, and how many packs it has; 0 for one that is not here.
	Size(repo ID) (bytes, packs int64, err error)
	// Remove takes a repository away from all readers. The repository stays in the trash for 30 days, unless ShrinkTrash removes it.
	Remove(repo ID) error
	// Check returns what is wrong with a repository that should have these refs.
	Check(ctx context.Context, repo ID, refs *gitwire.Refs) (Findings, error)
	// Maintain combines the packs of a repository if that is due, which it finds out at once. Maintain drops an object two weeks after the
	// last moment at which refs of the repository led to it, unless keep leads to it, and returns in did whether it did anything.
	// Where a depot says which packs there are, swap makes the change.
	Maintain(ctx context.Context, repo ID, refs *gitwire.Refs, keep []gitwire.ObjectID, swap Swap) (did bool, err error)
	// Sweep removes what has been in the trash for 30 days. Sweep moves into the trash each directory that is a day old and for which known
	// returns false.
	Sweep(ctx context.Context, known func(ID) bool) error
	// ShrinkTrash removes what has been in the trash for longest, until enough returns true of the bytes that the trash takes, or nothing is
	// left.
	ShrinkTrash(ctx context.Context, enough func(bytes int64) bool) error
	// Copy copies all repositories to another directory while they are used.
	Copy(ctx context.Context, to string) error
}

// Quarantine holds objects outside of all repositories until Admit takes them into one. One goroutine at a time may use a Quarantine.
type Quarantine interface {
	// Receive reads a pack to its end. Receive fails with a [*PackError] where the pack is wrong. A quarantine takes one pack, or none
	// where all objects are here already.
	Receive(ctx context.Context, pack io.Reader, r Receiving) (Received, error)
	// Prove proves that all that tips lead to is in the quarantine or in the repository beside it. Prove fails with a [*MissingError] where
	// an object is missing, and with a [*PackError] where a tip has the wrong type. Prove drops objects that tips do not need, and makes
	// the others durable. A proof that fails drops nothing, and the caller may try another one.
	Prove(ctx context.Context, p Proving) (Proof, error)
	// Bytes returns how many bytes of the disk the quarantine takes. Any goroutine may ask.
	Bytes() int64
	// Packs returns the packs that Admit would take into a repository: one, or none.
	Packs() ([]Packed, error)
	// Close removes the quarantine and its objects.
	Close() error
}

// Receiving says what a pack may be.
type Receiving struct {
	MaxBytes   int64 // 512 MiB if 0
	MaxObjects int64 // a million if 0
	Party      string
	Owner      string                  // for whom the work is
	Grown      func(bytes int64) error // nil, or called with how much came in so far; its error ends the transfer
	Whole      func()                  // nil, or called once when the whole pack is here, before git works on it; must not wait
}

// Received counts what came in with a pack.
type Received struct {
	Objects int64 // those of the pack, and those here on which deltas of the pack build
	Bytes   int64
}

// Proving says what Prove has to prove.
type Proving struct {
	Tips    []gitwire.ObjectID // of any type
	Commits []gitwire.ObjectID // tips that must be commits
	Haves   []gitwire.ObjectID // objects of the repository, at which the walk ends; Prove passes over ids that the repository does not have
	Party   string
	Owner   string // for whom the work of a copy is; a pack that came has its owner from Receiving
	Linked  bool   // CopyInto fails with ErrNotLinked where it would have to make a pack
}

// Proof says what Prove has proven.
type Proof struct {
	Objects, Bytes int64                                 // that the quarantine keeps: 0 if the repository has all
	Peeled         map[gitwire.ObjectID]gitwire.ObjectID // the object at the end of each annotated tag among the tips
}

var _ Repositories = (*Disk)(nil)
