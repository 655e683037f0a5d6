package main

import (
	"context"
	"fmt"
	"time"
)

// reconciliations takes the memory for their sets.
var reconciliations = attack{
	name:   "reconciliations",
	does:   "4 addresses open reconciliations of everything until they are refused, and keep them busy",
	bound:  "an eighth of the records is for addresses that have few; the oldest reconciliation of the address that has most gives way",
	builds: 5 * time.Second,
	strike: func(ctx context.Context, s *scene) error {
		return crowd(ctx, s, addresses(4), 24, reconcileAll)
	},
}

// reconcileAll opens as many as a connection may have: those who come first of everything, the next ones of the root events and
// the last ones of the announcements, so that nothing is left.
func reconcileAll(ctx context.Context, c *stranger, number int) bool {
	const each = 8
	filters := []string{`{}`, `{"kinds":[1621]}`, `{"kinds":[30617]}`}
	which := number / 4 % len(filters)
	if sleep(ctx, time.Duration(which)*2*time.Second) != nil {
		return false
	}
	for i := range each {
		if !c.send(1, text(fmt.Appendf(nil, `["NEG-OPEN","n%d",%s,"61"]`, i, filters[which]))) {
			return false
		}
	}
	for {
		if sleep(ctx, 3*time.Second) != nil {
			return false
		}
		for i := range each {
			if !c.send(1, text(fmt.Appendf(nil, `["NEG-MSG","n%d","61"]`, i))) {
				return false
			}
		}
	}
}
