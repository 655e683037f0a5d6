package githttp

import (
	"context"
	"io"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Host knows which repositories there are. Many goroutines call its methods at once.
type Host interface {
	// Find looks a repository up. found is false where its announcement is neither stored nor waiting: clients get 404.
	Find(of nip34.Address) (r Repository, found bool, err error)
	// AwaitFiles blocks until the files of the repository are of this generation or a later one. Callers need it before any process that reads the
	// files.
	AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error
}

// Taker decides about pushes. Many goroutines call its method at once.
type Taker interface {
	// Push does everything of a push but HTTP and frames. It reads the pack to its end or not at all, and calls progress with lines for the person
	// who pushes.
	Push(ctx context.Context, p PushCall) PushResult
}

// Repository is a repository as clients see it at one time. The same Dir and Generation always have the same Refs, and nobody changes these.
type Repository struct {
	Dir        string // names its data; "" is a repository without data, which looks empty to clients
	Generation uint64
	Refs       *gitwire.Refs
	Newest     *gitwire.Refs // for clients that cannot ask for only some refs: Refs with just the newest ShownByEvent of refs/nostr/; nil where Refs has no more
}

// PushCall is a push whose commands are read. It has at least one.
type PushCall struct {
	Of       nip34.Address
	From     string // the client's address, for IPv6 its /64; "" where there is none
	Network  string // the largest group that the address belongs to, for IPv6 its /48: processes work for it
	Operator bool   // the client is the operator's own, whom no limits of clients bound
	Push     *gitwire.Push
	Pack     io.Reader // what follows the commands; nothing reads it after Push has returned
	Yield    func()    // ends the read of Pack that is under way, and all later ones, to make room for others. Any goroutine may call it
	Progress func(line string)
}

// PushResult is the outcome of a push.
type PushResult struct {
	Unpack   string // what is wrong with the pack; "" is nothing
	Outcomes []gitwire.Outcome
	Lines    []string // for the person who pushes, after all progress
	Costly   bool     // the pack was refused as it is too much work for git: its address waits before the next one
}

// Packs makes packs of a repository's data. Each call ends with its context, and fails with gitproc.ErrBusy where the queue for a process is too
// long.
type Packs interface {
	// Missing returns the ids whose objects the data does not have.
	Missing(dir string, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Unreached returns the ids of commits and annotated tags to which no ref leads, by the data's files.
	Unreached(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]gitwire.ObjectID, error)
	// Pack writes the pack of a fetch whose work is gitwire.WorkPack.
	Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error
	// Upload writes the answer of upload-pack to a request.
	Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error
	// Archive writes the files of a commit as a .tar.gz, within a directory of that name.
	Archive(ctx context.Context, dir string, commit gitwire.ObjectID, name, party string, out io.Writer) error
	// Sizes returns the lengths of the objects' contents in bytes, below 0 for an object that is missing.
	Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error)
	// Bringing says in words how far data is that comes to this machine first, before a process can read it; "" where all is here.
	Bringing(dir string) string
}
