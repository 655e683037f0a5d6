package hosting

import (
	"context"
	"errors"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
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
	ManyPacks                     // the repository has too many packs, which are to be combined first
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
		"pending_full", "mixed", "archived", "many_packs", "many_new", "gone", "busy", "left"}[f]
}

// reason is an error that tells whoever pushed why the push failed.
type reason struct {
	why  Failure
	text string
}

func (r reason) Error() string { return r.text }

// reasonOf returns the failure that an error of a push counts as, in words that strangers may read.
func reasonOf(err error) reason {
	var own reason
	if errors.As(err, &own) {
		return own
	}
	out := reason{Fault, "this server could not store the push: try again later"}
	var pack *gitrepo.PackError
	var missing *gitrepo.MissingError
	switch {
	case errors.As(err, &pack) && pack.ByLimit:
		out = reason{LargePack, pack.Error()}
	case errors.As(err, &pack):
		out = reason{BadPack, pack.Error()}
	case errors.As(err, &missing):
		out = reason{IncompletePack, missing.Error() + "; if your clone is shallow or partial, fetch the rest into it first"}
	case errors.Is(err, gitproc.ErrBusy):
		out = reason{Busy, "too much is pushed here at the moment: try again in a minute"}
	case errors.Is(err, depot.ErrUnanswered):
		out = reason{ServerFull, "the object store of this server does not answer: push again in some minutes"}
	case errors.Is(err, refdb.ErrManyPacks):
		out = reason{RepositoryFull, "the repository has as many packs as it may: push again in some minutes, when they are combined"}
	case errors.Is(err, store.ErrFull), errors.Is(err, gitrepo.ErrNoSpace):
		out = reason{ServerFull, "the storage of this server is full: push to another one, or tell its operator"}
	case errors.Is(err, ingest.ErrStopped), errors.Is(err, context.Canceled):
		out = reason{Left, "this server is shutting down: push again later"}
	}
	if gitrepo.Costly(err) {
		out.why = CostlyPack
	}
	return out
}
