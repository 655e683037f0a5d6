package refs

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// PullRequest is a pull request (kind 1618) or an update of one (kind 1619), read for the commit that its author wants kept.
type PullRequest struct {
	nostr.Stamp
	Author       nostr.PubKey
	Commit       string           // its tip as written; "" if it names none
	Tip          gitwire.ObjectID // zero where Commit is no object id
	Repositories []nip34.Address  // that it names
	Updates      nostr.ID         // the pull request that it updates, zero for none
	Through      nostr.ID         // the pull request whose Repositories these are, zero where this event names them
}

// ReadPullRequest reads a kind 1618 or 1619 event. The only error of ReadPullRequest is nip34.ErrKind.
func ReadPullRequest(e *nostr.Event) (PullRequest, error) {
	t, err := nip34.ParseTip(e)
	if err != nil {
		return PullRequest{}, err
	}
	p := PullRequest{Stamp: e.Stamp(), Author: e.PubKey, Commit: t.Commit, Repositories: t.Repositories, Updates: t.Updates}
	if id, err := gitwire.ParseObjectID(t.Commit); err == nil {
		p.Tip = id
	}
	return p, nil
}

// Of returns p with the repositories of the updated pull request, where p names none and updates that one.
func (p PullRequest) Of(updated PullRequest) PullRequest {
	if len(p.Repositories) == 0 && p.Updates == updated.ID {
		p.Repositories, p.Through = updated.Repositories, updated.ID
	}
	return p
}

// Names reports whether p is for that repository.
func (p PullRequest) Names(repository nip34.Address) bool {
	return slices.Contains(p.Repositories, repository)
}

// Name returns the ref at which a repository has the tip.
func (p PullRequest) Name() string { return TipName(p.ID) }

// TipName returns the ref at which a repository has the tip of the pull request or update with that id (GRASP-01).
func TipName(event nostr.ID) string { return tips + event.String() }
