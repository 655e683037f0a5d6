package demands

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// Some relays refuse filters that name no kinds, and some answer them with no
// events and say nothing. For such a relay graspd adds kinds to all filters, until
// the next full resync. It believes that a refusal is about kinds only when the
// relay answers a filter with kinds. It notices silence by asking once more, with
// kinds, where a filter without kinds brought nothing; it names them until any filter
// without kinds has brought something.

// Mode says which kinds graspd adds to filters that name none.
type Mode uint8

// The modes.
const (
	NoKinds  Mode = iota // none
	AllKinds             // all that the NIPs around repositories use
	NoNotes              // AllKinds without kind 1, which some relays give by author only
	FewKinds             // ten, as some relays take no more
)

var added = [...][]nostr.Kind{
	NoKinds:  nil,
	AllKinds: nip34.Kinds(nip34.Naming),
	NoNotes:  slices.DeleteFunc(nip34.Kinds(nip34.Naming), func(k nostr.Kind) bool { return k == nostr.KindNote }),
	FewKinds: nip34.Kinds(nip34.Foremost),
}

// With returns f with the kinds of m, if it has none.
func (m Mode) With(f nostr.Filter) nostr.Filter {
	if f.Kinds == nil {
		f.Kinds = added[m]
	}
	return f
}

// Kinds remembers which kinds a relay demands in filters. The zero Kinds knows nothing.
type Kinds struct {
	mode     Mode
	answers  bool // the relay answers in this mode
	noVanish bool // the relay refuses filters that ask for requests to vanish
	emptied  bool // the relay sends no stored and no live events for filters without kinds
}

// Mode returns which kinds to add now.
func (k *Kinds) Mode() Mode { return k.mode }

// Emptied reports whether the relay answers filters without kinds with no events.
func (k *Kinds) Emptied() bool { return k.emptied }

// Forget makes graspd try the relay anew: it may demand less now.
func (k *Kinds) Forget() { *k = Kinds{} }

// Untold reports whether nothing shows yet that the relay answers filters without kinds.
func (k *Kinds) Untold() bool { return *k == (Kinds{noVanish: k.noVanish}) }

// Refused takes the refusal of a filter without kinds of its own, which went out in
// the mode sent. It reports whether to ask again at once, in another mode.
func (k *Kinds) Refused(sent Mode, text string) bool {
	switch {
	case !AboutKinds(text):
		return false
	case sent != k.mode:
		return true
	case (k.mode == AllKinds || k.mode == NoNotes) && strings.Contains(refusal.Normal(text), "too many kinds"):
		k.mode, k.answers = FewKinds, k.emptied
	case k.mode == AllKinds:
		k.mode, k.answers = NoNotes, k.emptied
	case k.answers:
		return false
	case k.mode == NoKinds:
		k.mode = AllKinds
	default:
		k.mode, k.answers = NoKinds, true // the refusal is not about kinds
		return false
	}
	return true
}

// AboutKinds reports whether a refusal may be for want of kinds, or because of the kinds named.
func AboutKinds(text string) bool { return strings.Contains(refusal.Normal(text), "kind") }

// Answered notes that the relay answered a request. If graspd had added kinds, that
// proves that kinds help. Answered reports whether that is news.
func (k *Kinds) Answered(as RequestMode) bool {
	if !as.Kindless || as.Mode == NoKinds || as.Mode != k.mode || k.answers {
		return false
	}
	k.answers = true
	return true
}

// Brought notes an event that a stored request brought. If its filter had no kinds,
// that proves that the relay needs none.
func (k *Kinds) Brought(as RequestMode) {
	if as.Kindless && as.Mode == NoKinds && k.mode == NoKinds {
		k.answers = true
	}
}

// AnswersNothing notes that the relay silently sends nothing for filters without kinds; graspd adds kinds from now on.
func (k *Kinds) AnswersNothing() {
	*k = Kinds{mode: AllKinds, answers: true, emptied: true, noVanish: k.noVanish}
}

// Outdated reports whether a REQ that was opened in the mode as brings nothing, or less than it could.
func (k *Kinds) Outdated(as RequestMode) bool {
	if k.emptied {
		return as.Kindless && as.Mode == NoKinds
	}
	return k.answers && k.mode == NoKinds && as.Kindless && as.Mode != NoKinds
}

// NoVanish reports whether the relay refuses filters that ask for requests to vanish.
func (k *Kinds) NoVanish() bool { return k.noVanish }

// VanishRefused takes the refusal of a request that asked for requests to vanish, among others. named says that the refusal
// counts only if the relay names their kind. VanishRefused reports whether to send the request again without them.
func (k *Kinds) VanishRefused(text string, named bool) bool {
	if k.noVanish || named && !(AboutKinds(text) && strings.Contains(text, "62")) {
		return false
	}
	k.noVanish = true
	return true
}
