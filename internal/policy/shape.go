package policy

import (
	"fmt"
	"slices"

	"graspd/internal/nostr"
)

// Bounds of an event, however it comes: a client, a relay and a file bring the same. Each tag is found by one value at most, so an
// event has no more index rows than tags and a few.
const (
	MaxEventBytes = 128 << 10 // as it is stored
	MaxEventTags  = 2000
)

// misshapen says what is wrong with the form of an event, "" for nothing. Answers to clients have to be able to carry it, and other
// implementations to read it: many take a tag for a list that has a name.
func misshapen(e *nostr.Event) string {
	switch {
	case e.Size() > MaxEventBytes:
		return fmt.Sprintf("invalid: this event is larger than %d bytes; shorten it and publish it again", MaxEventBytes)
	case len(e.Tags) > MaxEventTags:
		return fmt.Sprintf("invalid: this event has more than %d tags; remove some and publish it again", MaxEventTags)
	case slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool { return len(t) == 0 }):
		return "invalid: this event has a tag that is an empty array, which many programs cannot read; remove it and publish it again"
	}
	return ""
}
