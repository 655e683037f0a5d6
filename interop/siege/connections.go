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
		return holders(ctx, s, 500, addresses(40))
	},
}
