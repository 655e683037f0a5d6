// Package refdb keeps the refs of the repositories that are hosted here in line with the stored events (GRASP-01), within the batches of
// the door's one writer. It knows which events wait for git data, whose wait is over, what a push may do, and what each repository's refs
// are from the commit on. A Ledger reads and writes the open batch alone, and a Reader what is durable, beside the writer. Callers bring
// objects to disk. Read Ledger, then Repository, then Reader.
package refdb

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// WaitFor is how long an event waits for its git data, from when it came or when somebody last did something to bring the data. What somebody does
// within a minute of that sets nothing back.
const WaitFor = 30 * time.Minute

// Objects tells which objects the repositories on disk have.
type Objects interface {
	// Missing returns those of ids that a repository does not have. An object that it has is complete there, with all that the object reaches. Where
	// packs lie in an object store, the repository has those of its manifest among rows.
	Missing(rows Rows, dir Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error)
}

// Turn is the open batch in the hands of its writer.
type Turn struct {
	*store.Batch
	// Announced returns the served announcements with a d tag, as the rules in force read them.
	Announced func(d string) (*policy.Announced, error)
	// Serves reports whether the announcement brings its repository here by itself, by the rules in force.
	Serves func(*nip34.Announcement) bool
	// Left reports whether a waiting event takes part in nothing, as the caller has met a Fault over it. nil: there is none.
	Left func(nostr.ID) bool
	Now  time.Time
}

// Fault is an error over a waiting event, and not over the event or the git data that led to it. The caller may leave that event out by
// Turn.Left.
type Fault struct {
	Event nostr.ID
	Err   error
}

func (f *Fault) Error() string { return fmt.Sprintf("waiting event %s: %v", f.Event, f.Err) }

// Unwrap returns the error over the event.
func (f *Fault) Unwrap() error { return f.Err }

// faultOf returns an error over a waiting event as a Fault; nil for nil.
func faultOf(id nostr.ID, err error) error {
	if err == nil {
		return nil
	}
	return &Fault{id, err}
}

// Config says what a Ledger works with.
type Config struct {
	Objects Objects
	Service grasp.Service // where announcements list this relay
	// Mirrors are relays whose hosts may have every repository, whatever announcements name: the relays from which the operator fills.
	Mirrors []grasp.RelayURL
	// Private asks Mirrors for no repository of which an announcement says that it is private (GRASP-08).
	Private bool
	Store   *store.Store

	// Contributors says that this relay takes the commits of pull requests at /prs/<signer npub>/<identifier>.git (GRASP-06).
	Contributors bool
}

// Ledger keeps the refs of the hosted repositories. One goroutine uses it, the door's writer, but for Fetching, Keeps and Outcomes; any number have its Readers. Each part owns some of what a Ledger knows.
type Ledger struct {
	Config
	pending   refs.Pending // uploads
	events    *eventReader // what events say
	data      gitData      // which git data is here
	waitIndex *waitIndex   // which events wait
	readers   *readers     // what Readers share
	inBatch   inBatch      // what the open batch has done

	arriving arriving
	outcomes outcomes
}

// New makes a Ledger with nothing under way.
func New(c Config) *Ledger {
	l := &Ledger{Config: c, data: gitData{c.Objects}, waitIndex: &waitIndex{store: c.Store}, events: &eventReader{service: c.Service, contributors: c.Contributors}}
	l.readers = &readers{
		mirrors: c.Mirrors, private: c.Private, data: l.data, waitIndex: l.waitIndex,
		eventReader: eventReader{service: c.Service, contributors: c.Contributors},
	}
	l.inBatch.reset()
	l.outcomes.wake = make(chan struct{}, 1)
	return l
}

// Committed notes that the batch is durable. It returns the pull requests that came and whose commits were pushed before; Outcomes has the
// uploads that it is about.
func (l *Ledger) Committed(now time.Time) (uploaded []nostr.ID) {
	done := l.inBatch
	l.inBatch.reset()
	l.waitIndex.ended()
	for _, f := range done.filed {
		l.pending.Finish(now.Unix(), f.upload, f.tips)
	}
	for _, pr := range done.came {
		found, gone := l.pending.Come(pr)
		for _, f := range found {
			l.outcomes.put(Outcome{Upload: f.Upload, Event: pr.ID, Of: f.Of})
			uploaded = append(uploaded, pr.ID)
		}
		l.dropped(gone)
	}
	if done.expires {
		l.dropped(l.pending.Expire(now.Unix()))
	}
	return uploaded
}

func (l *Ledger) dropped(uploads []uint64) {
	for _, n := range uploads {
		l.outcomes.put(Outcome{Upload: n})
	}
}

// Noted returns how often the ledger has noted something for the open batch: while that number stands, and the batch has no more written, nothing was
// done.
func (l *Ledger) Noted() int { return l.inBatch.notes }

// Undone forgets what the ledger noted for the batch, which was dropped.
func (l *Ledger) Undone() {
	for _, n := range l.inBatch.begun {
		l.pending.Cancel(n)
	}
	l.inBatch.reset()
	l.waitIndex.ended()
	l.events.undone()
}

// Contributions returns the contributed repositories that a pull request, or an update of one, names (GRASP-06). Any goroutine may call
// Contributions.
func (l *Ledger) Contributions(e *nostr.Event) []nip34.Address { return l.events.contributions(e) }
