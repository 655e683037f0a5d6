package nip34

import "github.com/graspd/graspd/internal/protocol/nostr"

// Accused returns whom a report (NIP-56) is about: the first public key in a p tag.
func Accused(e *nostr.Event) (nostr.PubKey, bool) {
	for t := range tags(e).All("p") {
		if pk, err := nostr.ParsePubKey(t.Value()); err == nil {
			return pk, true
		}
	}
	return nostr.PubKey{}, false
}
