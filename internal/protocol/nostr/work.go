package nostr

import (
	"math/bits"
	"strconv"
)

// Difficulty returns the number of leading zero bits (NIP-13).
func (id ID) Difficulty() int {
	n := 0
	for _, b := range id {
		n += bits.LeadingZeros8(b)
		if b != 0 {
			break
		}
	}
	return n
}

// Work returns the proof of work that the event shows, in bits (NIP-13): the difficulty of its id, but at most the target that its first
// nonce tag commits to, where that is a number. So a lucky id is worth no more than what its author set out to find.
func (e *Event) Work() int {
	n := e.ID.Difficulty()
	for tag := range e.Tags.All("nonce") {
		if target, err := strconv.ParseUint(tag.at(2), 10, 16); err == nil {
			n = min(n, int(target))
		}
		break
	}
	return n
}
