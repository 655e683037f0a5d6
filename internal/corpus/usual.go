package corpus

import (
	"fmt"

	"graspd/internal/nostr"
)

// Bounds of created_at of what Usual asks for.
const (
	Since = 1_700_000_000
	Until = 1_760_000_000
)

// Usual are the options of n events in the proportions that git relays have: 150 to a repository, a
// third of them roots. Every repository lists the service.
func Usual(n int, service string) Options {
	o := Options{Seed: 1, Repositories: max(n/150, 2), Roots: n / 3, Service: service, Since: Since, Until: Until}
	o.Others = n - o.Repositories - o.Roots
	return o
}

// Unsigned is a Sign of Options that leaves the signature out, for those who look at none.
func Unsigned(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) {
	e.PubKey = pk
	e.ID = e.ComputeID()
}

// Parsed makes the events that a relay has to keep, by created_at, as they come from a connection: parsed.
func Parsed(o Options) ([]*nostr.Event, error) {
	var events []*nostr.Event
	for e := range Generate(o).Events(Held) {
		p, err := nostr.ParseEvent(e.AppendJSON(nil))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", e.ID, err)
		}
		events = append(events, p)
	}
	return events, nil
}
