package refs

import (
	"errors"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var errTipName = errors.New("no ref of an event")

// tipEvent reads the name of the ref of a tip, refs/nostr/<event id> (GRASP-01). It takes lower-case hex alone, as nobody would find
// a ref with another spelling of the id.
func tipEvent(name string) (nostr.ID, error) {
	hex, ok := strings.CutPrefix(name, tips)
	if !ok {
		return nostr.ID{}, errTipName
	}
	return nostr.ParseID(hex)
}

// tips judges the commands on refs/nostr/.
func (j *judge) tips(commands []int) {
	for _, i := range commands {
		c := j.push.Commands[i]
		id, err := tipEvent(c.Ref)
		if err != nil {
			j.refuse(i, BadTipName, refusedTipName)
			continue
		}
		if known, ok := j.in.Known[id]; ok {
			j.knownTip(i, id, known)
		} else {
			j.unknownTip(i, id)
		}
	}
}

// knownTip judges a command on the tip of an event that is here: nobody can push another commit, or delete the ref.
func (j *judge) knownTip(i int, id nostr.ID, known Known) {
	c := j.push.Commands[i]
	at := j.in.Projection.PullRequests.Get(c.Ref)
	switch {
	case known.Kind != nip34.KindPullRequest && known.Kind != nip34.KindPullRequestUpdate:
		j.refuse(i, NoPullRequest, refusedKind(known.Kind))
	case !known.Names(j.in.Of):
		j.refuse(i, OtherRepository, refusedRepository)
	case c.New.IsZero():
		j.refuse(i, TipDeleted, refusedDeletionOf(known.PullRequest))
	case known.Tip.IsZero() || c.New != known.Tip:
		j.refuse(i, OtherTip, refusedTip(known.PullRequest, c.New))
	case c.New == at:
	case c.Old != at:
		j.refuse(i, Moved, refusedMoved(at))
		j.line(j.say.moved(c.Ref, at, c.Old))
	default:
		j.v.PullRequests = append(j.v.PullRequests, id)
	}
}

// unknownTip judges a command on the tip of an event that is still to come: the first commit counts, until the event says otherwise.
func (j *judge) unknownTip(i int, id nostr.ID) {
	c := j.push.Commands[i]
	if c.New.IsZero() {
		j.refuse(i, TipDeleted, refusedDeletion)
		return
	}
	held := j.in.Pending.At(j.in.Of, id)
	switch {
	case !held.ID.IsZero() && held.ID != c.New:
		j.refuse(i, PendingOther, refusedPending(held.ID, c.New))
	case held.Complete:
	case j.in.Pending.has(j.push.Upload, id):
		j.v.Uploads = append(j.v.Uploads, Tip{id, c.New})
	case !c.Old.IsZero():
		j.refuse(i, Moved, refusedMoved(gitwire.ObjectID{}))
		j.line(j.say.moved(c.Ref, gitwire.ObjectID{}, c.Old))
	default:
		if cause := j.in.Pending.room(j.in.Now, j.in.Of, j.push.From, len(j.v.Uploads)); cause != None {
			j.refuse(i, cause, cause.Room())
			return
		}
		j.v.Uploads = append(j.v.Uploads, Tip{id, c.New})
	}
}
