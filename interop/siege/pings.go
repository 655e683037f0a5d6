package main

import (
	"bytes"
	"context"
)

// pings makes the relay answer frames that are no messages.
var pings = attack{
	name:  "pings",
	does:  "two addresses, 20 connections each: pings as fast as they are read",
	bound: "a ping is a request; beyond 100 a second of an address graspd closes the connection",
	strike: func(ctx context.Context, s *scene) error {
		const many = 1000
		lot := bytes.Repeat(head(opPing, 0), many)
		return crowd(ctx, s, addresses(2), 20, func(_ context.Context, c *stranger, _ int) bool {
			for c.send(many, lot) {
			}
			return false
		})
	},
}
