package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// bombs has git's processes work much for few bytes, each under a state that its owner has signed.
var bombs = attack{
	name:  "delta-bombs",
	hosts: true,
	does: "40 addresses, 2 pushes at a time each, under signed states: packs of some kB with blobs of 400 MB, a thousand blobs of 16 MB, deltas of gigabytes, " +
		"chains of 20,000 deltas",
	bound: "a process of git has a GiB of memory, and of time three seconds and one for each MiB of the pack; packs that make git produce more " +
		"than 16 MiB have half of the slots, half of the places to wait in and a lower priority, in turns of addresses and owners; an address whose pack graspd refused for that waits a minute, and longer each time",
	prepare: func(context.Context, *scene) error { allBombs(); return nil },
	strike: func(ctx context.Context, s *scene) error {
		made := allBombs()
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			if err := s.signed(ctx, c, newPlace(fmt.Sprint("bomber", n), "bomb"), someCommit(n), made[n%int64(len(made))]); err != nil && ctx.Err() == nil {
				s.got.heard(err.Error())
			}
		})
	},
}

var allBombs = sync.OnceValue(func() (packs [][]byte) {
	for _, k := range []func() *pack{wide, many, deep, long} {
		packs = append(packs, k().end())
	}
	return packs
})

// signed pushes a pack to a place that is announced for it, under a state that names that commit.
func (s *scene) signed(ctx context.Context, c *caller, p *place, tip gitwire.ObjectID, pack []byte) error {
	l := &line{url: s.url, from: c.from}
	defer l.down()
	main := ref{mainRef, tip}
	if err := publishEach(ctx, l, p.announcement(), p.state(main)); err != nil {
		return errors.New("an event is not taken")
	}
	_ = c.push(ctx, p, pushBody(gitwire.ObjectID{}, pack, main)) // it is counted
	return nil
}

func someCommit(n int64) gitwire.ObjectID { return commit(someID, n).id() }

// seed is the object that all deltas are made of.
var seed = object{blobSort, make([]byte, 1<<20)}

// wide has three blobs that are as large as memory allows.
func wide() *pack {
	p := packOf(seed)
	for i := range 3 {
		p.delta(seed.sum(), len(seed.body), len(seed.body)-i, 400)
	}
	return p
}

// many has a thousand that are large.
func many() *pack {
	p := packOf(seed)
	for i := range 1000 {
		p.delta(seed.sum(), len(seed.body), len(seed.body)-i, 16)
	}
	return p
}

// deep has a blob of gigabytes.
func deep() *pack {
	p := packOf(seed)
	p.delta(seed.sum(), len(seed.body), len(seed.body), 8000)
	return p
}

// long has a chain of deltas, each of which is made of the one before.
func long() *pack {
	last := object{blobSort, make([]byte, 64<<10)}
	p := packOf(last)
	for i := range 20_000 {
		next := object{blobSort, append([]byte{byte(i), byte(i >> 8)}, last.body[2:]...)}
		p.inserting(last, next.body[:2])
		last = next
	}
	return p
}
