package hosting

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// Failure is why a push failed as a whole, for the figures. A ref that is refused by itself has a refs.Cause.
type Failure uint8

// The failures.
const (
	Fault          Failure = iota // of this server
	BadPack                       // the pack is damaged, or has objects that graspd does not take
	LargePack                     // the pack has more bytes or objects than one push may have
	CostlyPack                    // the pack is more work for git than one push gets, or no place for that work is free
	IncompletePack                // objects are missing that the pack leads to
	ShallowClone                  // an incomplete pack of a client that says its clone is shallow
	RepositoryFull                // the repository would have more bytes than it may
	OwnerFull                     // the owner's repositories together would have more than they may
	ServerFull                    // all repositories together would have more than they may, or the disk has no room
	PendingFull                   // the commits that wait for their events would have more than they may
	Mixed                         // commits for events that are still to come were pushed with others, or the events came meanwhile
	Archived                      // the repository is only archived: nobody pushes to it
	ManyNew                       // too many new repositories came of the address, its network or the owner within an hour
	Gone                          // the repository or its announcement has gone meanwhile
	Busy                          // too many other pushes are under way
	Left                          // the client left, or the server is shutting down
	failures
)

// Failures is the size of Stats.Failures.
const Failures = int(failures)

// String returns the failure as a word for metrics.
func (f Failure) String() string {
	return [...]string{"fault", "bad_pack", "large_pack", "costly_pack", "incomplete_pack", "shallow_clone", "repository_full", "owner_full", "server_full",
		"pending_full", "mixed", "archived", "many_new", "gone", "busy", "left"}[f]
}

// reason is an error that tells whoever pushed why the push failed.
type reason struct {
	why  Failure
	text string
}

func (r reason) Error() string { return r.text }

// failureOf returns the failure that an error of a push counts as.
func failureOf(err error) Failure {
	var r reason
	var pack *gitrepo.PackError
	var missing *gitrepo.MissingError
	switch {
	case errors.As(err, &r):
		return r.why
	case gitrepo.Costly(err):
		return CostlyPack
	case errors.As(err, &pack) && pack.ByLimit:
		return LargePack
	case errors.As(err, &pack):
		return BadPack
	case errors.As(err, &missing):
		return IncompletePack
	case errors.Is(err, gitproc.ErrBusy):
		return Busy
	case errors.Is(err, store.ErrFull), errors.Is(err, gitrepo.ErrNoSpace):
		return ServerFull
	case errors.Is(err, ingest.ErrStopped), errors.Is(err, context.Canceled):
		return Left
	}
	return Fault
}
