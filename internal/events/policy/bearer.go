package policy

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bearer is who brings an event, as far as they have proved who they are. A greater Bearer has proved more.
type Bearer uint8

// The bearers. A stranger is another relay, or a client that has not authenticated (NIP-42).
const (
	Stranger Bearer = iota
	Another         // a client that has authenticated, and not as the author
	Author          // the author
)

// BearerOf returns who brings e over a connection on which these keys have authenticated.
func BearerOf(e *nostr.Event, keys []nostr.PubKey) Bearer {
	switch {
	case len(keys) == 0:
		return Stranger
	case !slices.Contains(keys, e.PubKey):
		return Another
	}
	return Author
}

// protection refuses a protected event that somebody else than its author brings, and a repost with a protected event in
// its content (NIP-70).
func protection(e *nostr.Event, by Bearer) (Verdict, bool) {
	switch {
	case e.Protected() && by == Stranger:
		return Verdict{Refuse, "auth-required: this event is protected (NIP-70), so only its author may publish it; " +
			"authenticate (NIP-42) and send it again"}, true
	case e.Protected() && by != Author:
		return Verdict{Refuse, "restricted: this event is protected (NIP-70) and you authenticated as somebody else; " +
			"authenticate as its author and send it again"}, true
	case reposts(e):
		return Verdict{Refuse, "blocked: this repost has a protected event (NIP-70) in its content; " +
			"leave the content empty and publish it again"}, true
	}
	return Verdict{}, false
}

// reposts reports whether the event is a repost with a protected event in its content.
func reposts(e *nostr.Event) bool {
	if e.Kind != nostr.KindRepost && e.Kind != nostr.KindGenericRepost {
		return false
	}
	inner, err := nostr.ParseEvent([]byte(e.Content))
	return err == nil && inner.Protected()
}
