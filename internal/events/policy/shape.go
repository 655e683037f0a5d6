package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of an event, whether a client, a relay or a file brings it. The store has at most one index row for a tag, so an event has few
// more rows than tags.
const (
	MaxEventBytes = 128 << 10 // as the store has it
	MaxEventTags  = 2000      // for a state, beside its branches and tags

	// MaxStateBytes is for repository states (kind 30618), which have a tag of up to 300 bytes for each branch and tag.
	MaxStateBytes = 24 * MaxEventBytes

	// MaxProfileBytes is for profiles (kind 0) and lists of relays (kinds 10002 and 10317): everybody who has something here may
	// have one of each.
	MaxProfileBytes = 16 << 10
)

// MaxBytes returns how many bytes an event of a kind may have, as the store has it.
func MaxBytes(k nostr.Kind) int {
	switch k {
	case nip34.KindState:
		return MaxStateBytes
	case nostr.KindMetadata, nostr.KindRelayList, nip34.KindGraspList:
		return MaxProfileBytes
	}
	return MaxEventBytes
}

// ordinaryTags returns how many tags of an event count for MaxEventTags. The branches and tags of a state have a bound of their own, and
// no index finds anything by them.
func ordinaryTags(e *nostr.Event) int {
	if e.Kind != nip34.KindState {
		return len(e.Tags)
	}
	n := 0
	for _, t := range e.Tags {
		if !strings.HasPrefix(t.Name(), "refs/") {
			n++
		}
	}
	return n
}

// misshapen says what is wrong with the form of an event; "" where nothing is. An event has to fit into the messages to clients, and other
// implementations have to read it: many of them fail at a tag without a name.
func misshapen(e *nostr.Event) string {
	switch {
	case e.Size() > MaxBytes(e.Kind):
		return fmt.Sprintf("invalid: this event is larger than %d bytes; shorten it and publish it again", MaxBytes(e.Kind))
	case len(e.Tags) > nostr.MaxStrings:
		return fmt.Sprintf("invalid: this event has more than %d tags; remove some and publish it again", nostr.MaxStrings)
	case ordinaryTags(e) > MaxEventTags:
		return fmt.Sprintf("invalid: this event has more than %d tags; remove some and publish it again", MaxEventTags)
	case slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool { return len(t) == 0 }):
		return "invalid: this event has a tag that is an empty array, which many programs cannot read; remove it and publish it again"
	}
	return ""
}
