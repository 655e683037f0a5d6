package githttp

import (
	"context"
	"io"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/nip34"
)

// Host knows which repositories there are and decides about pushes. Many goroutines call its methods at once.
type Host interface {
	// Find looks a repository up. found is false for what is neither stored nor waiting: 404.
	Find(of nip34.Address) (r Repository, found bool, err error)
	// AwaitFiles blocks until the files of the repository are of this generation or a later one. It comes before any process that reads them.
	AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error
	// Push does all of a push but HTTP and frames. It reads the pack to its end or not at all, and calls progress with lines for the person who
	// pushes.
	Push(ctx context.Context, p PushCall) PushResult
}

// Repository is a repository as it is shown at one time. The same Dir and Generation always have the same Refs, and nobody changes them.
type Repository struct {
	Dir        string // names its data; "" is a repository without data, which is served as empty
	Generation uint64
	Refs       *gitwire.Refs
	Newest     *gitwire.Refs // for clients that cannot ask for some refs: Refs with the newest ShownByEvent of refs/nostr/ alone; nil where Refs has no more
}

// PushCall is a push whose commands are read. It has at least one.
type PushCall struct {
	Of       nip34.Address
	From     string // the client's address, for IPv6 its /64; "" where there is none
	Network  string // the largest group that the address belongs to, for IPv6 its /48: processes work for it
	Push     *gitwire.Push
	Pack     io.Reader // what follows the commands; nothing reads it after Push has returned
	Progress func(line string)
}

// PushResult is the outcome of a push.
type PushResult struct {
	Unpack   string // what is wrong with the pack; "" is nothing
	Outcomes []gitwire.Outcome
	Lines    []string // for the person who pushes, after all progress
	Costly   bool     // the pack was refused as it is too much work for git: its address waits before the next one
}

// Packs makes packs out of a repository's data. Each call ends with its context. The error is gitproc.ErrBusy where the queue for a process
// is too long.
type Packs interface {
	// Missing are the ids whose objects the data does not have.
	Missing(dir string, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Pack writes the pack of a fetch that is gitwire.WorkPack.
	Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error
	// Upload writes what upload-pack answers to the request.
	Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error
	// Sizes are the lengths of the objects' contents in bytes, below 0 for an object that is not there.
	Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error)
}
