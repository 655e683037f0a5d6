package main

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// overlapping replaces subscriptions while their stored events are being sent.
var overlapping = attack{
	name:   "overlapping",
	does:   "one address, 40 connections: REQs for hundreds of stored events under the same eight ids again and again, answers read slowly; clients vanish and come again",
	bound:  "a scan ends when its reader leaves; a fault in a session ends that session alone",
	strike: overlap,
}

func overlap(ctx context.Context, s *scene) error {
	var asks [8][]byte
	for i := range asks {
		asks[i] = text([]byte(`["REQ","s` + strconv.Itoa(i) + `",{},{"kinds":[1621]},{"kinds":[1617]},{"kinds":[1111]},{"limit":500}]`))
	}
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				overlapFor(ctx, s, asks[:], time.Duration(1+i%4)*time.Second)
			}
		})
	}
	all.Wait()
	return nil
}

// overlapFor asks and reads slowly on one connection until the time is up, and then vanishes.
func overlapFor(ctx context.Context, s *scene, asks [][]byte, lasts time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	c, err := open(ctx, s.url, on(attackerNet, 0), &s.got)
	if err != nil {
		_ = sleep(ctx, time.Second)
		return
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	go func() {
		for i := 0; c.send(1, asks[i%len(asks)]); i++ {
			if i%50 == 49 && sleep(ctx, 5*time.Millisecond) != nil {
				return
			}
		}
	}()
	c.read(ctx, 100*time.Microsecond)
}
