package refs

import (
	"errors"
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Outcome is what becomes of an accepted event because of its git data.
type Outcome uint8

// The outcomes.
const (
	Store  Outcome = iota // served at once
	Wait                  // stored, and not served until its git data is here
	Refuse                // not stored: nobody could serve it
)

// Decision is an outcome and what follows from it.
type Decision struct {
	Outcome Outcome
	Missing []gitwire.ObjectID // objects that have to be complete here to end the wait, each once; none where another event ends the wait, or nothing can end it
	OK      string             // the text of the OK message; "" for a plain one
}

// About is what Decide needs to know besides the event.
type About struct {
	Hosting bool // false: the relay serves no git data, and nothing waits for it
	Again   bool // this very event waits already

	// Has reports whether an object is complete in a repository that the event is for, with all that it reaches.
	Has func(gitwire.ObjectID) bool

	// Of announcements alone.
	Replaces      bool           // the relay serves one at its address
	Lists         bool           // it lists this service; else it is here because its author has a part in another repository
	Announcements []Announcement // with its identifier, served and waiting; older ones at its address do no harm
	States        []State        // with its identifier, served and complete here
	PullRequests  []PullRequest  // served and complete here, that name its repository
}

// Decide says whether an accepted event waits for git data (GRASP-01). Announcements, states, pull requests and updates of these can wait;
// all other events are stored. An event that is stored may end the wait of others, as Waiting.Release tells.
func Decide(e *nostr.Event, in About) Decision {
	if !in.Hosting {
		return Decision{}
	}
	var d Decision
	switch e.Kind {
	case nip34.KindRepository:
		d = in.announcement(e)
	case nip34.KindState:
		d = in.state(e)
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		d = in.pullRequest(e)
	}
	if d.Outcome == Wait && in.Again {
		d.OK = okStillWaits
	}
	return d
}

// announcement decides about an announcement. The announcement waits for a state of a repository that its author maintains, or for a pull
// request that names it. It is stored at once where it replaces a served one, or only helps to decide who maintains what.
func (in About) announcement(e *nostr.Event) Decision {
	a, err := ReadAnnouncement(e)
	if err != nil || in.Replaces || !in.Lists || in.hasData(a) {
		return Decision{}
	}
	return Decision{Outcome: Wait, OK: okWaits}
}

// hasData reports whether an event that would end the announcement's wait is here already, with its git data.
func (in About) hasData(a Announcement) bool {
	names := func(p PullRequest) bool { return p.Names(a.Address()) && !p.Tip.IsZero() }
	if slices.ContainsFunc(in.PullRequests, names) {
		return true
	}
	w := Waiting{Announcements: []Announcement{a}, Served: in.Announcements, Complete: in.States}
	return len(w.Release(nil)) > 0
}

func (in About) state(e *nostr.Event) Decision {
	s, err := ReadState(e)
	switch {
	case errors.Is(err, nip34.ErrRefs):
		return Decision{Outcome: Refuse, OK: refusedRefs()}
	case err != nil:
		return Decision{}
	case s.Flaw != "":
		return Decision{Outcome: Wait, OK: okWaitsInVain(s.Flaw)}
	}
	ids := make([]gitwire.ObjectID, 0, len(s.Refs))
	for _, r := range s.Refs {
		ids = append(ids, r.ID)
	}
	return in.objects(ids, okWaits)
}

func (in About) pullRequest(e *nostr.Event) Decision {
	p, err := ReadPullRequest(e)
	switch {
	case err != nil || p.Commit == "":
		return Decision{}
	case p.Tip.IsZero():
		return Decision{Outcome: Wait, OK: okWaitsFor(p.Commit)}
	}
	return in.objects([]gitwire.ObjectID{p.Tip}, okWaitsFor(p.Commit))
}

// objects decides about an event that names objects. The event waits for the objects that are not complete.
func (in About) objects(ids []gitwire.ObjectID, ok string) Decision {
	var missing []gitwire.ObjectID
	seen := make(map[gitwire.ObjectID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] && !in.Has(id) {
			missing = append(missing, id)
		}
		seen[id] = true
	}
	if len(missing) == 0 {
		return Decision{}
	}
	return Decision{Outcome: Wait, Missing: missing, OK: ok}
}
