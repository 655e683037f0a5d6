package peer_test

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
)

// dislike says whether the relay does not take a value in a filter.
func (f *fakeRelay) dislike(v string) bool {
	return f.dislikes != "" && (len(v) > 255 || strings.ContainsRune(v, 0) || strings.Contains(v, "disliked"))
}

func (f *fakeRelay) dislikesAny(filters []nostr.Filter) bool {
	for _, x := range filters {
		for _, tag := range x.Tags {
			if slices.ContainsFunc(tag.Values, f.dislike) {
				return true
			}
		}
	}
	return false
}

// disliked refuses a REQ for one value, and reports whether it did.
func (f *fakeRelay) disliked(sub string, filters []nostr.Filter) bool {
	if !f.dislikesAny(filters) {
		return false
	}
	switch f.dislikes {
	case "closed":
		f.send(nostr.Closed{Sub: sub, Reason: "error: unable to answer"})
	case "named":
		f.send(nostr.Closed{Sub: sub, Reason: "ERROR: bad req: error parsing #a: filter item too large"})
	case "notice":
		f.send(nostr.Notice{Text: "could not parse command"})
	case "noticed":
		f.send(nostr.Notice{Text: "ERROR: bad req: error parsing #a: filter item too large"})
	case "drop":
		f.hangUp("reset")
	}
	return true
}

// dislikedNeg refuses a NEG-OPEN likewise.
func (f *fakeRelay) dislikedNeg(sub string, x nostr.Filter) bool {
	if !f.dislikesAny([]nostr.Filter{x}) {
		return false
	}
	switch f.dislikes {
	case "named":
		f.send(nostr.NegErr{Sub: sub, Reason: "error parsing #a: filter item too large"})
	case "noticed":
		f.send(nostr.Notice{Text: "ERROR: error parsing #a: filter item too large"})
	case "silent":
	case "drop":
		f.hangUp("reset")
	default:
		f.send(nostr.NegErr{Sub: sub, Reason: "error: no"})
	}
	return true
}

// strangeNames are identifiers of repositories that some relays dislike.
var strangeNames = []string{strings.Repeat("long", 50), "with a \x00 in it", "disliked", strings.Repeat("ü", 300), "tab\tand more"}

// poison has strangers announce repositories whose values the relay dislikes, with
// something about each.
func (w *world) poison() {
	for i := range 1 + w.r.IntN(5) {
		author, d := key(60+w.r.IntN(3)), pick(w.r, strangeNames...)
		if w.relay.dislikes == "drop" && d == "disliked" {
			continue // it would end the connection again and again, and nothing tells for what
		}
		w.keep(w.shop.Announce(author, d, w.unix()-int64(i), []string{us, string(here)}))
		w.relay.publish(w.shop.Mint.Issue(w.unix()-int64(w.r.IntN(100_000)), address(author, d)))
	}
}

// dislikedItem says whether the relay is not to be asked for an item.
func (w *world) dislikedItem(want *peer.Want, it peer.Item) bool {
	return w.relay.dislikes != "" && w.relay.dislikesAny(peer.Asks(want, it))
}

// refusals says whether the relay is taken to refuse what it does refuse.
func (w *world) refusals() bool {
	for _, r := range w.peer.Refuses() {
		if !slices.ContainsFunc(append([]string{r.D}, r.Addresses...), w.relay.dislike) {
			return false
		}
	}
	return true
}

// isTrial says whether a REQ only shows whether the relay takes some values.
func isTrial(sub string) bool { return strings.HasPrefix(sub, "t") }
