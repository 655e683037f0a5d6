package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	sameD  = "many" // the identifier that all announcements have
	bulk   = 120_000
	eventS = 200 // events a second that an address may publish
)

// announcements makes the writer look at all announcements with one identifier.
var announcements = attack{
	name:    "announcements",
	does:    "1,000 repositories with the same d; then one address, 100 connections: 200 more announcements with it a second",
	bound:   "the connections of an address are one party at the door, which pays for the work of decisions and may announce 64 repositories of an identifier; graspd reads announcements once",
	prepare: func(ctx context.Context, s *scene) error { return members(ctx, s, 1000, "") },
	strike: func(ctx context.Context, s *scene) error {
		return flood(ctx, s, func() *nostr.Event { return elsewhere("") })
	},
}

// largeAnnouncements does the same with as many bytes as an event may have.
var largeAnnouncements = attack{
	name:    "large-announcements",
	does:    "the same with announcements of 120 KB, as many as are taken within 20 s",
	bound:   "the same",
	prepare: func(ctx context.Context, s *scene) error { return members(ctx, s, 1000, strings.Repeat("x", bulk)) },
	strike: func(ctx context.Context, s *scene) error {
		filling := strings.Repeat("x", bulk)
		return flood(ctx, s, func() *nostr.Event { return elsewhere(filling) })
	},
}

// members publishes n announcements with the same d by as many authors, from 20 addresses.
func members(ctx context.Context, s *scene, n int, content string) error {
	events := make([]*nostr.Event, n)
	for i := range events {
		events[i] = announce(fmt.Sprint("member", i), sameD, content)
	}
	taken, err := publishAll(ctx, s, 20, 20*time.Second, events)
	s.note = fmt.Sprintf("%d of %d announcements were taken before", taken, n)
	return err
}

// elsewhere is an announcement that does not list graspd.
func elsewhere(content string) *nostr.Event {
	return sign(fmt.Sprint("other", made.Load()), 30617, content, nostr.Tag{"d", sameD}, nostr.Tag{"relays", "wss://elsewhere.invalid"})
}

// flood publishes as many events a second as an address may, from one with 100 connections.
func flood(ctx context.Context, s *scene, event func() *nostr.Event) error {
	const many = 100
	return crowd(ctx, s, []netip.Addr{on(attackerNet, 0)}, many, func(ctx context.Context, c *stranger, _ int) bool {
		for c.send(1, text(nostr.AppendEventMsg(nil, event()))) {
			if sleep(ctx, many*time.Second/eventS) != nil {
				return false
			}
		}
		return false
	})
}
