package demands

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// Some relays refuse tag names in upper case (#A, #E), in words of all kinds and by a NOTICE that does not say what it is about. Where a request
// with such a name is refused so, graspd leaves these names out of live REQs, until the relay answers a request with one: stored requests
// ask for each name alone.

// Names remembers whether a relay takes tag names in upper case. The zero Names knows nothing.
type Names struct{ upper trust }

type trust uint8

const (
	untold trust = iota
	doubted
	taken
	refused
)

// Upper reports whether a filter has a tag name in upper case.
func Upper(f nostr.Filter) bool {
	return slices.ContainsFunc(f.Tags, func(t nostr.TagFilter) bool { return t.Name >= 'A' && t.Name <= 'Z' })
}

// filterWords are words of refusals that may be about a filter.
var filterWords = []string{"#", "invalid", "filter", "tag", "not allowed", "unrecogni", "unsupported", "parse", "bad req"}

// MayBe reports whether a refusal may be about a tag name.
func MayBe(text string) bool {
	t := refusal.Normal(text)
	switch why := refusal.Of(text); {
	case why != refusal.Other && (why != refusal.TooBig || refusal.ExcessOf(text) != refusal.Things), strings.Contains(t, "limit"), strings.Contains(t, "kind"):
		return false
	}
	return slices.ContainsFunc(filterWords, func(w string) bool { return strings.Contains(t, w) })
}

// Left reports whether names in upper case are left out of live REQs.
func (n *Names) Left() bool { return n.upper == doubted || n.upper == refused }

// Open reports whether it is open whether the relay takes names in upper case.
func (n *Names) Open() bool { return n.upper != taken }

// Refuses reports whether the relay is known to refuse names in upper case.
func (n *Names) Refuses() bool { return n.upper == refused }

// Doubted takes the refusal of a live REQ. It reports whether to send it again without names in upper case.
func (n *Names) Doubted(as RequestMode, text string) bool {
	if !as.Upper || n.upper == taken || !MayBe(text) {
		return false
	}
	n.upper = max(n.upper, doubted)
	return true
}

// Mute records that a live REQ got no answer but a NOTICE that nobody understands. It reports whether to send it again without names in upper case.
func (n *Names) Mute(as RequestMode) bool {
	if !as.Upper || n.upper != untold {
		return false
	}
	n.upper = doubted
	return true
}

// Alone takes the refusal of a stored request for a name in upper case; "" is silence, where names are left out of live REQs already. It reports whether
// the relay refuses such names.
func (n *Names) Alone(as RequestMode, text string) bool {
	if !as.Upper || n.upper == taken || text == "" && !n.Left() || text != "" && !MayBe(text) {
		return false
	}
	n.upper = refused
	return true
}

// Answered records that the relay has answered a request.
func (n *Names) Answered(as RequestMode) {
	if as.Upper && n.upper != refused {
		n.upper = taken
	}
}

// Outdated reports whether a REQ that was opened in the mode as lacks names that the relay takes.
func (n *Names) Outdated(as RequestMode) bool { return as.Lower && n.upper == taken }
