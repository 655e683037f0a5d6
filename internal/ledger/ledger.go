// Package ledger keeps the refs of the repositories that are hosted here in line with the stored events (GRASP-01), within the batches of
// the door's one writer. It knows which events wait for git data, whose wait is over, what a push may do, and what each repository's refs
// are from the commit on. The package reads and writes the open batch alone. Callers bring objects to disk. Read Ledger, then Repository.
package ledger

import (
	"context"
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
	// Private asks Mirrors for no repository of which an announcement says that it is private (GRASP-08).
	Private bool
	Store   *store.Store

	// Contributors says that pull requests are taken at /prs/<signer npub>/<identifier>.git (GRASP-06).
	Contributors bool

	// Changed is called after a commit with each repository whose row the commit changed. Changed must not block.
	Changed func(nip34.Address)
	// Stirred is called after a commit with each identifier of repositories whose lacks the commit may have changed. Stirred must not
	// block. nil: nobody wants to know.
	Stirred func(d string)
	// UnderWay says of an event that waits whether its git data is on its way here. nil: none is.
	UnderWay func(*nostr.Event) bool
	// Found is called after a commit with each upload that has the tip of an event that came, and Dropped with each upload that
	// waits for nothing any more. Neither may block.
	Found   func(refs.Found, nostr.ID)
	Dropped func(upload uint64)
}

// Ledger belongs to one goroutine, the door's writer. Each part of a Ledger owns some of what the Ledger knows.
type Ledger struct {
	Config
	pending refs.Pending // uploads
	events  *eventReader // what events say
	data    gitData      // what of git is here
	book    *book        // which events wait
	lacking *lacking     // what is to be fetched
	inBatch inBatch      // what the open batch has done
}

// New makes a ledger of which nothing is under way.
func New(c Config) *Ledger {
	l := &Ledger{Config: c, data: gitData{c.Objects}, book: &book{store: c.Store}, events: &eventReader{service: c.Service, contributors: c.Contributors}}
	l.lacking = &lacking{service: c.Service, mirrors: c.Mirrors, private: c.Private, data: l.data, events: l.events, book: l.book}
	l.inBatch.reset()
	return l
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
	l.book.undone()
	l.events.undone()
}

// Lacks says what a repository lacks for the states that may come to rule it, and for pull requests that wait.
func (l *Ledger) Lacks(t Turn, of nip34.Address) (Lack, error) { return l.lacking.of(t, of) }

// LacksTips adds the needs of served pull requests whose tips the repository lacks. Any goroutine may call it.
func (l *Ledger) LacksTips(ctx context.Context, v *store.View, now time.Time, out *Lack) error {
	return l.lacking.tips(ctx, v, now, out)
}
