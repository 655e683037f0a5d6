package demands

import (
	"strings"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refusal"
)

// Some relays refuse filters that name no kinds, and some answer them with
// nothing and say nothing. For such a relay kinds are added to all of them, until
// the next full resync. A refusal is believed to be about kinds only when what
// is asked with kinds is answered; silence is noticed by asking once more, with
// kinds, for what a filter without kinds brought nothing of, until any filter
// without kinds has brought something.

// Mode says which kinds are added to filters that name none.
type Mode uint8

// The modes.
const (
	NoKinds  Mode = iota // none
	AllKinds             // all that the NIPs around repositories use
	NoNotes              // without kind 1, which some relays give by author only
	FewKinds             // ten, as some relays bear no more
)

// naming are the kinds that name repositories and their root events, notes first.
var naming = []nostr.Kind{nostr.KindNote, nostr.KindDeletion, nostr.KindReaction, nostr.KindComment, nip34.KindPatch, nip34.KindPullRequest,
	nip34.KindPullRequestUpdate, nip34.KindIssue, nip34.KindReplyOld, nip34.KindCoverNote, nip34.KindStatusOpen, nip34.KindStatusApplied,
	nip34.KindStatusClosed, nip34.KindStatusDraft, nostr.KindLabel, nostr.KindZap}

var added = [...][]nostr.Kind{
	NoKinds:  nil,
	AllKinds: naming,
	NoNotes:  naming[1:],
	FewKinds: {nostr.KindDeletion, nostr.KindComment, nip34.KindPatch, nip34.KindPullRequest, nip34.KindPullRequestUpdate,
		nip34.KindIssue, nip34.KindStatusOpen, nip34.KindStatusApplied, nip34.KindStatusClosed, nip34.KindStatusDraft},
}

// With returns f with the kinds of m, if it has none.
func (m Mode) With(f nostr.Filter) nostr.Filter {
	if f.Kinds == nil {
		f.Kinds = added[m]
	}
	return f
}

// Kinds is what is known of a relay about the kinds of filters. The zero value knows nothing.
type Kinds struct {
	mode     Mode
	settled  bool // it answers in this mode
	noVanish bool // it refuses to be asked for requests to vanish
	emptied  bool // it answers filters without kinds with nothing, and live ones never
}

// Mode is which kinds are added now.
func (k *Kinds) Mode() Mode { return k.mode }

// Emptied says whether the relay answers filters without kinds with nothing.
func (k *Kinds) Emptied() bool { return k.emptied }

// Forget has the relay tried anew: it may demand less now.
func (k *Kinds) Forget() { *k = Kinds{} }

// Untold says whether nothing shows yet that the relay answers filters without kinds.
func (k *Kinds) Untold() bool { return *k == (Kinds{noVanish: k.noVanish}) }

// Refused handles a refusal of a filter without kinds of its own, which was
// sent in a mode. It reports whether it is to be asked again at once, in another one.
func (k *Kinds) Refused(sent Mode, text string) bool {
	switch {
	case !AboutKinds(text):
		return false
	case sent != k.mode:
		return true
	case (k.mode == AllKinds || k.mode == NoNotes) && strings.Contains(refusal.Normal(text), "too many kinds"):
		k.mode, k.settled = FewKinds, k.emptied
	case k.mode == AllKinds:
		k.mode, k.settled = NoNotes, k.emptied
	case k.settled:
		return false
	case k.mode == NoKinds:
		k.mode = AllKinds
	default:
		k.mode, k.settled = NoKinds, true // kinds are not what it is about
		return false
	}
	return true
}

// AboutKinds says whether a refusal may be for want of kinds, or for those named.
func AboutKinds(text string) bool { return strings.Contains(refusal.Normal(text), "kind") }

// Answered notes that a request was answered: with kinds added that proves that
// they are of use. It reports whether that is news.
func (k *Kinds) Answered(as Manner) bool {
	if !as.Kindless || as.Mode == NoKinds || as.Mode != k.mode || k.settled {
		return false
	}
	k.settled = true
	return true
}

// Brought notes an event that a stored filter brought: of one without kinds it is
// proof that none are needed.
func (k *Kinds) Brought(as Manner) {
	if as.Kindless && as.Mode == NoKinds && k.mode == NoKinds {
		k.settled = true
	}
}

// AnswersNothing adds kinds for a relay that silently answers nothing without.
func (k *Kinds) AnswersNothing() {
	*k = Kinds{mode: AllKinds, settled: true, emptied: true, noVanish: k.noVanish}
}

// Outdated says whether what was opened in a manner does not bring what it asks for, or less than it could.
func (k *Kinds) Outdated(as Manner) bool {
	if k.emptied {
		return as.Kindless && as.Mode == NoKinds
	}
	return k.settled && k.mode == NoKinds && as.Kindless && as.Mode != NoKinds
}

// NoVanish says whether the relay refuses to be asked for requests to vanish.
func (k *Kinds) NoVanish() bool { return k.noVanish }

// VanishRefused handles the refusal of a request that asked for requests to vanish, where they may be the reason: the relay
// names their kind, or, where named is false, nothing better is known. It reports whether the request is to be sent again
// without them.
func (k *Kinds) VanishRefused(text string, named bool) bool {
	if k.noVanish || named && !(AboutKinds(text) && strings.Contains(text, "62")) {
		return false
	}
	k.noVanish = true
	return true
}
