package testkit

import (
	"bytes"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// Bounds of created_at in the options of Usual.
const (
	Since = 1_700_000_000
	Until = 1_760_000_000
)

// Usual returns options for n events in the proportions of git relays: 150 to a repository, a third of them roots. Every repository lists the
// service.
func Usual(n int, service string) corpus.Options {
	o := corpus.Options{Seed: 1, Repositories: max(n/150, 2), Roots: n / 3, Service: service, Since: Since, Until: Until}
	o.Others = n - o.Repositories - o.Roots
	return o
}

// Unsigned is a Sign for corpus.Options that leaves the signature out, for tests that check none.
func Unsigned(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) {
	e.PubKey = pk
	e.ID = e.ComputeID()
}

// Parsed returns the events that a relay has to keep, by created_at, each parsed from JSON as after a connection.
func Parsed(o corpus.Options) ([]*nostr.Event, error) {
	var events []*nostr.Event
	for e := range corpus.Generate(o).Events(corpus.Served) {
		p, err := nostr.ParseEvent(e.AppendJSON(nil))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", e.ID, err)
		}
		events = append(events, p)
	}
	return events, nil
}

// Count returns the message ["COUNT", sub, filter...] (NIP-45).
func Count(sub string, filters ...nostr.Filter) []byte {
	return bytes.Replace(nostr.AppendReq(nil, sub, filters...), []byte("REQ"), []byte("COUNT"), 1)
}
