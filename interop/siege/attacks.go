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
	hosts  bool          // repositories are hosted, and the honest client pushes and clones beside
	room   int64         // bytes of disk that the relay has; 0 is as much as there is
	files  int           // that its process may have open; 0 is as many as the system allows
	builds time.Duration // until the attack is in full force, which comes before the time that it lasts
	// prepare makes ready what the attack needs, and is no part of it.
	prepare func(context.Context, *scene) error
	// strike attacks until its context ends. What the relay refuses is no error.
	strike func(context.Context, *scene) error
	// breaks says which bound does not hold, by the figures that graspd tells after it; nil is none.
	breaks func(figures map[string]float64) string
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
	inflating, lawless, bombs,
	manyRefs, strangeNames,
	unread, slowClones, dripping,
	thousand, pending,
	crawlers,
	nestedTags, longSizes, pulled,
	leftOutBases, largeCommits, keptPacks, smallAsks,
	manyCommands, manyPrefixes, manyHaves, manySizes, advertised,
	tildes, slowHistories, slowPatches, searches, liveSearches,
	codePages, reviewPages, archives,
	trickling, heldTurns, fewFiles, silentConnections,
	coMaintainers, slowCoMaintainers, newRepositories, takenAway,
	endlessFrames,
}

func names() (all []string) {
	for _, a := range attacks {
		all = append(all, a.name)
	}
	return all
}
