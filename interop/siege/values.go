package main

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// values makes the relay parse, sort and look up much.
var values = attack{
	name:  "many-values",
	does:  "one address, 20 connections: REQs with 44,000 values as fast as they are read",
	bound: "an address has 2 MiB a second, pays for values before graspd parses them, and takes turns; large messages leave half of the processors",
	strike: func(ctx context.Context, s *scene) error {
		ask := text(manyValues("s", 0))
		return crowd(ctx, s, addresses(1), 20, func(_ context.Context, c *stranger, _ int) bool {
			for c.send(1, ask) {
			}
			return false
		})
	},
}

// malformed makes it parse what it cannot understand in the end.
var malformed = attack{
	name:  "malformed",
	does:  "two addresses, 20 connections each: messages of 256 KiB that are wrong in their last bytes, as fast as they are read",
	bound: "the same",
	strike: func(ctx context.Context, s *scene) error {
		bad := manyValues("s", 0)
		bad[len(bad)-2] = '!'
		wrong := text(bad)
		return crowd(ctx, s, addresses(2), 20, func(_ context.Context, c *stranger, _ int) bool {
			for c.send(1, wrong) {
			}
			return false
		})
	},
}

// filters takes the memory for filters.
var filters = attack{
	name:   "filters",
	does:   "9 addresses open subscriptions with 44,000 values until they are refused",
	bound:  "an eighth of the memory is for addresses that have little; the oldest subscription of the address that has most gives way",
	strike: func(ctx context.Context, s *scene) error { return subscribeMuch(ctx, s, addresses(9)) },
}

// customer does the same from one network of IPv6.
var customer = attack{
	name:   "ipv6-customer",
	does:   "one customer, who has a /48 of IPv6, does the same from 16 of the /64 in it",
	builds: 8 * time.Second,
	bound:  "a /48 has four times what an address has, and half of the memory at most",
	strike: func(ctx context.Context, s *scene) error { return subscribeMuch(ctx, s, customers(16)) },
}

func subscribeMuch(ctx context.Context, s *scene, from []netip.Addr) error {
	return crowd(ctx, s, from, 2, func(ctx context.Context, c *stranger, number int) bool {
		// Large ones first, and then such as fill what is left.
		for i := range 60 {
			lists, each := 88, 500
			switch {
			case i >= 40:
				lists, each = 1, 1
			case i >= 24:
				lists, each = 1, 100
			case i >= 8:
				lists = 4
			}
			if !c.send(1, text(req(fmt.Sprint("s", i), number*60+i, lists, each))) || sleep(ctx, 100*time.Millisecond) != nil {
				return false
			}
		}
		return true
	})
}

// names of tags whose values may be anything.
const tagNames = "bcdfghijklmnorstuvwxyzBCDFGHIJKLMNORSTUVWXYZ"

// manyValues is a REQ with as many values as fit into a message.
func manyValues(sub string, n int) []byte { return req(sub, n, 88, 500) }

// req is one with that many lists of values, at most 44 in a filter, which match nothing.
func req(sub string, n, lists, each int) []byte {
	var b bytes.Buffer
	b.WriteString(`["REQ",` + strconv.Quote(sub))
	for i := range lists {
		name := i % len(tagNames)
		if name == 0 {
			if i > 0 {
				b.WriteByte('}')
			}
			b.WriteString(`,{"limit":1`)
		}
		b.WriteString(`,"#` + tagNames[name:name+1] + `":[`)
		for v := range each {
			if v > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(strconv.FormatInt(int64((v*7919+n)%1296), 36))) // in no order
		}
		b.WriteByte(']')
	}
	b.WriteString("}]")
	return b.Bytes()
}
