package main

import (
	"context"
	"time"
)

// connections takes all the connections that the relay bears.
var connections = attack{
	name:   "connections",
	does:   "40 addresses open 500 connections each",
	bound:  "an eighth of the places is for addresses that have few; there are fewer places than file descriptors",
	builds: 15 * time.Second,
	strike: func(ctx context.Context, s *scene) error {
		return holders(ctx, s, openKind, 500, addresses(40))
	},
}

// silentConnections takes the places of connections that are no WebSockets yet.
var silentConnections = attack{
	name:   "silent-connections",
	does:   "20 addresses open 1,050 connections each, say nothing, and open them again when they are closed",
	bound:  "a request has 10 s for its head; where all places are taken, the oldest connection of the address that has most gives way",
	builds: 15 * time.Second,
	strike: func(ctx context.Context, s *scene) error {
		return holders(ctx, s, silentKind, 1050, addresses(20))
	},
}
