package corpus

import "graspd/internal/nostr"

// NPub is the npub of a key.
func NPub(pk nostr.PubKey) string { return (&person{pk: pk}).npub() }
