package main

import (
	"context"
	"time"
)

// attack is one way to harm a relay.
type attack struct {
	name   string
	does   string // what the attacker does
	bound  string // what holds it, for the report
	flags  []string
	builds time.Duration // until the attack is in full force, which comes before the time that it lasts
	// prepare makes ready what the attack needs, and is no part of it.
	prepare func(context.Context, *scene) error
	// strike attacks until its context ends. What the relay refuses is no error.
	strike func(context.Context, *scene) error
}

// attacks are made in this order.
var attacks = []attack{
	overlapping,
	announcements, largeAnnouncements,
	deletions,
	relayEvents, relayMessages,
	halves,
	values, malformed,
	filters, customer, reconciliations, connections,
	pings,
}

func names() (all []string) {
	for _, a := range attacks {
		all = append(all, a.name)
	}
	return all
}
