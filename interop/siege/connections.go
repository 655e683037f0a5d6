package main

import (
	"context"
	"time"
)

// connections takes all the connections that the relay bears.
var connections = attack{
	name:   "connections",
	does:   "40 addresses open 500 connections each",
	bound:  "a part of the connections is for addresses that have few",
	builds: 15 * time.Second,
	strike: func(ctx context.Context, s *scene) error {
		return holders(ctx, s, 500, addresses(40))
	},
}
