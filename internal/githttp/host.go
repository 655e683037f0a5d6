package githttp

import (
	"context"
	"io"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/nip34"
)

// Host knows which repositories there are and decides about pushes. Its methods are called by many goroutines at once.
type Host interface {
	// Find looks a repository up. found is false for what is neither stored nor waiting: 404.
	Find(of nip34.Address) (r Repository, found bool, err error)
	// Settled returns once the files of the repository are of this generation or a later one, before a process reads them.
	Settled(ctx context.Context, of nip34.Address, generation uint64) error
	// Push does all of a push but HTTP and frames. pack is read to its end or not at all; progress is called with lines for the person who
	// pushes.
	Push(ctx context.Context, p PushCall) PushResult
}

// Repository is one as it is shown at a time. Of one Dir and Generation the Refs are always the same, and nobody changes them.
type Repository struct {
	Dir        string // names its data; "" has none and is served as empty
	Generation uint64
	Refs       *gitwire.Refs
	Newest     *gitwire.Refs // for who cannot ask for some: Refs without all but the newest ShownByEvent of refs/nostr/; nil where there are no more
}

// PushCall is a push whose list of commands was read and is not empty.
type PushCall struct {
	Of       nip34.Address
	From     string // the client's address, for IPv6 its /64; "" where there is none
	Network  string // the largest group that it belongs to, for IPv6 its /48; whose work processes do for the push
	Push     *gitwire.Push
	Pack     io.Reader // what follows the commands; nothing reads it after Push has returned
	Progress func(line string)
}

// PushResult is what became of a push.
type PushResult struct {
	Unpack   string // what is wrong with the pack; "" is nothing
	Outcomes []gitwire.Outcome
	Lines    []string // for the person who pushes, after all progress
	Costly   bool     // the pack was refused for the work that it is to git: its address is to wait
}

// Packs makes packs out of a repository's data, each call within its context. What waits for too long a queue fails with
// gitproc.ErrBusy.
type Packs interface {
	// Missing are those ids that the data has not.
	Missing(dir string, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
	// Pack writes the pack of a fetch that is gitwire.WorkPack.
	Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error
	// Upload writes what upload-pack answers to the request.
	Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error
	// Sizes are those of the objects' contents, below 0 for what is not there.
	Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error)
}
