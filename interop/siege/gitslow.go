package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// unread has packs made that nobody reads, each another one.
var unread = attack{
	name:    "unread-clones",
	hosts:   true,
	does:    "40 addresses, 4 clones at a time each of a repository of 64 MB, each with another filter, of whose pack they read nothing",
	bound:   "git writes to a file and waits for nobody; 4 GiB of packs on their way, and half of the free disk above the floor; who reads least or has most gives way; graspd cuts off who reads nothing for a minute",
	prepare: func(ctx context.Context, s *scene) error { return s.large(ctx) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(40), 4, func(ctx context.Context, c *caller, n int64) {
			filter := packetLine(fmt.Sprintf("filter blob:limit=%d", 1<<30+n))
			body := want(largeTip(), filter[4:])
			c.leave(ctx, request{path: largePlace().path, service: "upload-pack", version2: true, body: bytes.NewReader(body)})
		})
	},
}

// slowClones reads large packs little by little, so that these stay on the disk.
var slowClones = attack{
	name:    "slow-clones",
	hosts:   true,
	room:    1 << 30,
	does:    "40 addresses, 2 clones at a time each of a repository of 64 MB, each with another filter, of whose pack they read 2 KiB a second, where 1 GiB of the disk is left",
	bound:   "packs being sent take half of the free disk above the floor; the ones read slowest give way, then those of whoever has most",
	builds:  15 * time.Second, // until they are slow
	prepare: func(ctx context.Context, s *scene) error { return s.large(ctx) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			filter := packetLine(fmt.Sprintf("filter blob:limit=%d", 1<<30+n))
			c.sip(ctx, request{path: largePlace().path, service: "upload-pack", version2: true, body: bytes.NewReader(want(largeTip(), filter[4:]))})
		})
	},
}

// dripping has pushes under way that never end.
var dripping = attack{
	name:    "dripping-pushes",
	hosts:   true,
	does:    "40 addresses, 4 pushes at a time each, of commits that nobody has announced: a byte a second, and a KiB a second",
	bound:   "128 pushes at once, 4 of an address, and 16 for who has none; 16 KiB in 20 s, and where others wait the slowest gives way",
	builds:  25 * time.Second, // until those have gone that are too slow whoever waits
	prepare: func(ctx context.Context, s *scene) error { return s.settle(ctx, victims(40)...) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(40), 4, func(ctx context.Context, c *caller, n int64) {
			p := victims(40)[n%40]
			head := pushBody(gitwire.ObjectID{}, []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), ref{nostrRef(n), someID})
			each := 1 + 1023*int(n%2)
			_, _ = c.do(ctx, request{path: p.path, service: "receive-pack", body: io.MultiReader(bytes.NewReader(head), &drip{ctx, each})}) // it is counted
		})
	},
}

// heldTurns has pushes under way that are just not too slow, of as many addresses as there are turns and more.
var heldTurns = attack{
	name:    "held-turns",
	hosts:   true,
	does:    "140 addresses, a push at a time each, of commits that nobody has announced: 64 KiB a second without end",
	bound:   "128 pushes at once; where others wait the slowest gives way, after 20 s below 64 KiB a second, and after each further 20 s below twice as much",
	builds:  35 * time.Second, // until those give way that have all turns
	prepare: func(ctx context.Context, s *scene) error { return s.settle(ctx, victims(140)...) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(140), 1, func(ctx context.Context, c *caller, n int64) {
			head := pushBody(gitwire.ObjectID{}, []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), ref{nostrRef(n), someID})
			begun := &pack{}
			begun.head(blobSort, 1<<30)
			body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(begun.b.Bytes()), &drip{ctx, 64 << 10})
			_, _ = c.do(ctx, request{path: victims(140)[n%140].path, service: "receive-pack", body: body}) // it is counted
		})
	},
}

// drip is so many bytes a second until ctx ends.
type drip struct {
	ctx  context.Context
	each int
}

func (d *drip) Read(p []byte) (int, error) {
	n := min(len(p), d.each)
	if err := sleep(d.ctx, time.Second*time.Duration(n)/time.Duration(d.each)); err != nil {
		return 0, err
	}
	clear(p[:n])
	return n, nil
}

// leave asks and reads nothing but the head of the answer, for as long as ctx lasts.
func (c *caller) leave(ctx context.Context, q request) {
	c.hear(ctx, q, func(io.Reader) { <-ctx.Done() })
}

// sip asks and reads 2 KiB of the answer a second, until it ends.
func (c *caller) sip(ctx context.Context, q request) {
	c.hear(ctx, q, func(body io.Reader) {
		for sleep(ctx, time.Second) == nil {
			if _, err := io.CopyN(io.Discard, body, 2<<10); err != nil {
				return
			}
		}
	})
}

// hear asks, and has read read the answer that is no refusal.
func (c *caller) hear(ctx context.Context, q request, read func(body io.Reader)) {
	r, err := q.http(ctx, c.base)
	if err != nil {
		return
	}
	c.t.messages.Add(1)
	a, err := c.c.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			c.t.heard((&answer{}).verdict(err))
		}
		return
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, mostText)) // it is for the tally
		c.t.heard((&answer{status: a.StatusCode, text: text}).verdict(nil))
		return
	}
	c.t.heard("ok")
	read(a.Body)
}

func victims(n int) (all []*place) {
	for i := range n {
		all = append(all, newPlace(fmt.Sprint("victim", i), "victim"))
	}
	return all
}

// noise is bytes that cannot be compressed.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // it never fails
	return b
}

func largePlace() *place { return newPlace("large", "large") }

// largeObjects are a commit with a file of 64 MB.
var largeObjects = sync.OnceValue(func() []object {
	_, objects := withFile(noise(64<<20, 0))
	return objects
})

func largeTip() gitwire.ObjectID { return largeObjects()[2].id() }

// large has a repository of 64 MB settled.
func (s *scene) large(ctx context.Context) error {
	return s.settleWith(ctx, largePlace(), largeTip(), largeObjects())
}
