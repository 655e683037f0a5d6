package main

import (
	"bytes"
	"context"
	"net/netip"
)

// halves has messages of clients pending that never end.
var halves = attack{
	name:  "half-messages",
	does:  "20 addresses, 200 connections each: a message of 256 KiB but for its last byte",
	bound: "64 MiB for all messages being read, 8 MiB for those of an address, a minute for one; the address that has most gives way",
	strike: func(ctx context.Context, s *scene) error {
		const whole = 256 << 10
		half := append(head(opText, whole), bytes.Repeat([]byte("x"), whole-1)...)
		return crowd(ctx, s, addresses(20), 200, func(_ context.Context, c *stranger, _ int) bool { return c.send(0, half) })
	},
}

// addresses are n of attackers.
func addresses(n int) (all []netip.Addr) {
	for i := range n {
		all = append(all, on(attackerNet, i))
	}
	return all
}
