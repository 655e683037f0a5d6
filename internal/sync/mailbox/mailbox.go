// Package mailbox knows where participants keep what they write (GRASP-03). From accepted events it learns who takes part and their lists
// of relays (NIP-65), and from these what is worth asking of which relay. Read mailbox.go, then fold.go, then round.go.
package mailbox

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// URL is a normalised relay URL, the identity of a remote relay.
type URL = grasp.RelayURL

// Mailbox says what graspd asks one relay on behalf of participants. Nobody changes a Mailbox.
type Mailbox struct {
	People []Person       // those who say that they write there, in order of their keys
	Index  []nostr.PubKey // those for whose profiles and lists graspd asks, as the operator named the relay for that; in order
}

// Person is somebody who takes part, and what they lately took part in.
type Person struct {
	PubKey    nostr.PubKey
	IDs       []nostr.ID // their newest events, and what these name; in order
	Addresses []string   // the addresses of their newest events, and those that these name; in order
}

// Size returns the number of people whose mailbox the relay is.
func (m *Mailbox) Size() int {
	if m == nil {
		return 0
	}
	return len(m.People)
}

func (m *Mailbox) equal(o *Mailbox) bool {
	return slices.Equal(m.Index, o.Index) && slices.EqualFunc(m.People, o.People, func(a, b Person) bool {
		return a.PubKey == b.PubKey && slices.Equal(a.IDs, b.IDs) && slices.Equal(a.Addresses, b.Addresses)
	})
}

// WriteRelays returns the relays to which the author of a list (kind 10002) writes, normalised and without repeats: the first most of
// them, in the order of the list. It leaves out relays that are marked read, relays for which not is true, and values that are no relay
// URL.
func WriteRelays(e *nostr.Event, most int, not func(URL) bool) (urls []URL) {
	for t := range e.Tags.All("r") {
		if len(urls) == most {
			break
		}
		if len(t) > 2 && t[2] != "" && t[2] != "write" {
			continue
		}
		if u, err := grasp.NormalizeRelay(t.Value()); err == nil && !not(u) && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}
