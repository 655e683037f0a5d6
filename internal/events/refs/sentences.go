package refs

import (
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Texts that people read. Each is one line without a full stop, and says what the reader can do, if anything. The functions make strangers'
// names and values printable, and cut them.

// Texts of OK messages that accept an event (GRASP-01).
const (
	okWaits      = "purgatory: won't be served until git data arrives"
	okStillWaits = "duplicate: in purgatory"
)

func okWaitsFor(commit string) string {
	return okWaits + " (commit " + safetext.Printable(commit) + ")"
}

func okWaitsInVain(flaw string) string {
	return okWaits + "; it never can: " + flaw + ": publish a state without that"
}

func refusedRefs() string {
	return fmt.Sprintf("invalid: this state names more than %d branches and tags; publish one with fewer", nip34.MaxRefs)
}

// Clauses that say why no repository can be as a state says. Package gitwire has the clause for names that git refuses.

func flawValue(name, value string) string {
	return fmt.Sprintf("it has %s at '%s', which is the id of no object here (40 lower-case hex digits)", safetext.Printable(name), safetext.Printable(value))
}

func flawWithin(inner, outer string) string {
	return fmt.Sprintf("it has both %s and %s, which exclude each other", safetext.Printable(outer), safetext.Printable(inner))
}

// Reasons beside a ref in the report of a push, which git prints in brackets.
const (
	refusedNoState     = "no state event for this push"
	refusedWithOthers  = "refused with the others of this push"
	refusedAtomic      = "atomic push failed"
	refusedTwice       = "named twice in this push"
	refusedNamespace   = "only refs/heads/, refs/tags/ and refs/nostr/<event id> are kept here"
	refusedContributed = "only refs/nostr/<id of a pull request's event> is taken here: branches and tags are pushed to the repository itself"
	refusedDeletion    = "tips of pull requests go with their events: delete the event (kind 5) instead"
	refusedTipName     = "refs/nostr/ takes event ids only: 64 lower-case hex digits"
	refusedRepository  = "the event with this id does not name this repository"
	refusedAuthor      = "the state for this push is not by a confirmed maintainer"
)

func refusedState(s State) string { return "not as the state " + short(s.ID.String()) + " says" }

func refusedFlaw(s State) string {
	return "no repository can be as the state " + short(s.ID.String()) + " says"
}

func refusedOlder(ruling State) string {
	return "a newer state (" + short(ruling.ID.String()) + ") rules"
}

func refusedMoved(now gitwire.ObjectID) string {
	if now.IsZero() {
		return "fetch first: it is not here"
	}
	return "fetch first: it is at " + short(now.String()) + " here"
}

func refusedKind(k nostr.Kind) string {
	return fmt.Sprintf("the event with this id is no pull request (kind %d) and has no tip", k)
}

func refusedTip(p PullRequest, pushed gitwire.ObjectID) string {
	if p.Tip.IsZero() {
		return "event " + p.ID.String() + " names no commit that could be pushed"
	}
	return fmt.Sprintf("event %s names commit %s, not %s", p.ID, p.Tip, pushed)
}

func refusedDeletionOf(p PullRequest) string {
	return fmt.Sprintf("event %s has its tip %s here: delete the event (kind 5) instead", p.ID, p.Tip)
}

func refusedPending(held, pushed gitwire.ObjectID) string {
	return fmt.Sprintf("commit %s was pushed here before and waits for its event, so not %s: publish the event first", held, pushed)
}

// Room says in words why graspd does not take a tip of an unknown event, for a cause that is a bound of Pending.
func (c Cause) Room() string {
	why := "too much waits here for its events"
	switch c {
	case PendingPush:
		why = fmt.Sprintf("more than %d tips of unknown pull requests in one push", MaxPushTips)
	case PendingRepository:
		why = fmt.Sprintf("in this repository %d tips or %d MiB wait for their events", MaxRepositoryTips, MaxRepositoryBytes>>20)
	case PendingAddress:
		why = fmt.Sprintf("your address has pushed %d tips of unknown pull requests within an hour, or %d MiB of them wait", MaxAddressTips, MaxAddressBytes>>20)
	case PendingNetwork:
		why = fmt.Sprintf("your network has pushed %d tips of unknown pull requests within an hour, or %d MiB of them wait", MaxNetworkTips, MaxNetworkBytes>>20)
	}
	return "refused: " + why + ", publish the pull request's event first"
}

// speech makes the sentences about one push. All need the relay, the repository, and the time of the push.
type speech struct {
	relay grasp.RelayURL
	of    nip34.Address
	now   int64
}

func (s speech) noState() string {
	return fmt.Sprintf("no state event for this push: publish your repository state (kind 30618) to %s first, then push again", s.relay)
}

// stateBy says in lines how ngit pushes with a state, and what a contributor does.
func (s speech) stateBy() []string {
	return []string{
		"with ngit: git remote set-url origin " + s.nostrURL() + ", then git push origin: that publishes the state first",
		"if you do not maintain the repository: do the same with a branch pr/<name>, which opens a pull request",
	}
}

// nostrURL returns the repository's URL for ngit, with this relay as the one to ask.
func (s speech) nostrURL() string {
	return "nostr://" + nip19.Npub(s.of.PubKey) + "/" + grasp.Escape(strings.TrimPrefix(string(s.relay), "wss://")) + "/" + grasp.Escape(s.of.D)
}

// differs returns a line about a ref that would not be where the state wants it once the push is done.
func (s speech) differs(state State, name string, wants, after gitwire.ObjectID, pushed bool) string {
	head := fmt.Sprintf("the state of %s (%s) ", s.at(state.CreatedAt), short(state.ID.String()))
	name = safetext.Printable(name)
	switch {
	case after.IsZero() && pushed:
		return head + fmt.Sprintf("has %s at %s, which this push deletes: leave it, or publish a state without it", name, short(wants.String()))
	case after.IsZero():
		return head + fmt.Sprintf("also has %s at %s, which is not here: push it too", name, short(wants.String()))
	case wants.IsZero() && pushed:
		return head + fmt.Sprintf("does not have %s: do not push it, or publish a state that has it at %s", name, short(after.String()))
	case wants.IsZero():
		return head + fmt.Sprintf("does not have %s, which is here at %s: delete it with this push too", name, short(after.String()))
	case pushed:
		return head + fmt.Sprintf("has %s at %s, not at %s: push what it says, or publish a state that has this", name, short(wants.String()), short(after.String()))
	}
	return head + fmt.Sprintf("has %s at %s, which is at %s here: push it too", name, short(wants.String()), short(after.String()))
}

// more returns the line below lines about refs, for n refs without a line.
func (s speech) more(n int) string {
	if n == 1 {
		return "and so one more ref"
	}
	return fmt.Sprintf("and so %d more refs", n)
}

func (s speech) flawed(state State) string {
	return fmt.Sprintf("no repository can be as the state of %s (%s) says: %s: publish a state without that, then push again",
		s.at(state.CreatedAt), short(state.ID.String()), state.Flaw)
}

func (s speech) older(state, ruling State) string {
	return fmt.Sprintf("a newer state (%s, %s) rules this repository, not that of %s (%s): fetch, publish a state made after it, then push again",
		short(ruling.ID.String()), s.at(ruling.CreatedAt), s.at(state.CreatedAt), short(state.ID.String()))
}

func (s speech) notMaintainer(author nostr.PubKey, invited bool) string {
	head := fmt.Sprintf("%s is not a confirmed maintainer of %s: ", nip19.Npub(author), s.repository())
	if invited {
		return head + "their announcement must list a maintainer back"
	}
	return head + "a maintainer's announcement must list them, and theirs must list a maintainer back"
}

func (s speech) moved(name string, now, old gitwire.ObjectID) string {
	name = safetext.Printable(name)
	switch {
	case now.IsZero():
		return fmt.Sprintf("%s is not here, though your git takes it to be at %s: fetch, then push again", name, short(old.String()))
	case old.IsZero():
		return fmt.Sprintf("%s is here already, at %s: fetch, then push again", name, short(now.String()))
	}
	return fmt.Sprintf("%s is at %s here, though your git takes it to be at %s: fetch, then push again", name, short(now.String()), short(old.String()))
}

// repository returns the path of the repository in its URL, with the owner's npub cut short.
func (s speech) repository() string {
	npub := nip19.Npub(s.of.PubKey)
	return npub[:len("npub1")+8] + "…/" + safetext.Printable(s.of.D)
}

// at returns the time of an event to the second, with the day where it is not the day of the push.
func (s speech) at(seconds int64) string {
	t, now := time.Unix(seconds, 0).UTC(), time.Unix(s.now, 0).UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04:05 UTC")
}

// short returns the beginning of an id in hex.
func short(hex string) string { return hex[:min(len(hex), 8)] + "…" }
