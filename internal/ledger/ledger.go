// Package ledger keeps the refs of the repositories that are hosted here in line with the stored events (GRASP-01), within the batches of
// the door's one writer. It knows which events wait for git data, whose wait is over, what a push may do, and what each repository's refs
// are from the commit on. It reads and writes the open batch alone. Objects are brought to disk by its callers. Read Ledger, then
// Repository.
package ledger

import (
	"time"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// WaitFor is how long an event waits for its git data, from when it came or when last something was done about that.
const WaitFor = 30 * time.Minute

// Objects is what is known of repositories on disk.
type Objects interface {
	// Missing gives those of ids that a repository does not have. An object that it has is complete there, with all that the object reaches.
	Missing(dir Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
}

// Turn is the open batch in the hands of its writer.
type Turn struct {
	*store.Batch
	// Announced gives the announcements that are served with a d, as the rules in force read them.
	Announced func(d string) (*policy.Announced, error)
	// Serves says whether a repository with this announcement is here by itself, as the rules in force have it.
	Serves func(*nip34.Announcement) bool
	Now    time.Time
}

// Config says what a Ledger works with.
type Config struct {
	Objects Objects
	Service grasp.Service // where announcements list this relay
	// Mirrors are relays whose hosts may have every repository, whatever announcements name: those that the operator fills from.
	Mirrors []grasp.RelayURL
	// Private asks those for no repository of which an announcement says that it is private (GRASP-08).
	Private bool
	Store   *store.Store

	// Contributors says that pull requests are taken at /prs/<signer npub>/<identifier>.git (GRASP-06).
	Contributors bool

	// Changed is called after a commit with each repository whose row the commit changed. It must not block.
	Changed func(nip34.Address)
	// Stirred is called after a commit with each identifier of repositories whose lacks the commit may have changed. It must not
	// block. nil: nobody wants to know.
	Stirred func(d string)
	// UnderWay says of an event that waits whether its git data is on its way here. nil: none is.
	UnderWay func(*nostr.Event) bool
	// Found is called after a commit with each upload that has the tip of an event that came, and Dropped with each upload that
	// waits for nothing any more. They must not block.
	Found   func(refs.Found, nostr.ID)
	Dropped func(upload uint64)
}

// Ledger belongs to one goroutine, the door's writer.
type Ledger struct {
	Config
	pending refs.Pending
	book    book
	claims  claims
	inBatch inBatch
}

// inBatch is what the open batch has done so far to events that concern repositories.
type inBatch struct {
	touched map[string]*touched // by identifier
	order   []string            // the identifiers, in the order in which they were touched
	changed []nip34.Address     // rows that were written
	came    []refs.PullRequest  // accepted, or waiting since
	filed   []filing
	stirred map[string]bool // identifiers

	peeled map[gitwire.ObjectID]gitwire.ObjectID // of annotated tags that came
}

// filing is an upload whose push ends with the batch.
type filing struct {
	upload uint64
	tips   []refs.Tip
}

// touched is what the open batch has added and removed of one identifier.
type touched struct {
	states  []refs.State       // served since
	tips    []refs.PullRequest // served since
	gone    []nostr.ID         // pull requests that are served no more
	members bool               // who decides, or which states are complete, may have changed: all states are looked at
	owners  []nostr.PubKey     // whose repository is looked at, announcement or not

	contributed []nip34.Address // contributed repositories of which something has come or gone
}

// New makes a ledger of which nothing is under way.
func New(c Config) *Ledger {
	l := &Ledger{Config: c, book: book{store: c.Store}}
	l.inBatch.reset()
	return l
}

func (r *inBatch) reset() { *r = inBatch{touched: map[string]*touched{}, stirred: map[string]bool{}} }

func (r *inBatch) touch(d string) *touched {
	r.stirred[d] = true
	t := r.touched[d]
	if t == nil {
		t = &touched{}
		r.touched[d] = t
		r.order = append(r.order, d)
	}
	return t
}

// Keeps reports whether an event goes on waiting though its time is over, as its git data is on its way here.
func (l *Ledger) Keeps(e *nostr.Event) bool { return l.UnderWay != nil && l.UnderWay(e) }

// Committed hears that the batch is durable, and calls those who are told after a commit.
func (l *Ledger) Committed(now time.Time) {
	done := l.inBatch
	l.inBatch.reset()
	l.book.kept()
	for _, f := range done.filed {
		l.pending.Finish(now.Unix(), f.upload, f.tips)
	}
	for _, pr := range done.came {
		found, gone := l.pending.Come(pr)
		for _, f := range found {
			l.Found(f, pr.ID)
		}
		for _, n := range gone {
			l.Dropped(n)
		}
	}
	for _, of := range done.changed {
		l.Changed(of)
	}
	if l.Stirred != nil {
		for d := range done.stirred {
			l.Stirred(d)
		}
	}
}

// Undone hears that the batch was dropped.
func (l *Ledger) Undone() {
	l.inBatch.reset()
	l.book.fresh, l.claims = nil, nil // the numbers of the dropped entries will be given to other events
}
