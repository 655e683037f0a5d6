package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// trickling takes the disk by what is on its way.
var trickling = attack{
	name:    "trickling-pushes",
	hosts:   true,
	room:    1 << 30,
	does:    "20 addresses, 2 pushes at a time each of commits that nobody has announced: 60 MB at once and then a KiB a second, where 1 GiB of the disk is left",
	bound:   "the bytes of packs on their way have an account, asked while they grow, of which one party has half at most; the slowest gives way",
	prepare: func(ctx context.Context, s *scene) error { noises(); return s.settle(ctx, victims(40)...) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(20), 2, func(ctx context.Context, c *caller, n int64) {
			head := pushBody(gitwire.ObjectID{}, []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), ref{nostrRef(n), someID})
			begun := &pack{}
			begun.head(blobSort, 1<<30)
			body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(begun.b.Bytes()), bytes.NewReader(noises()), &drip{ctx, 1024})
			_, _ = c.do(ctx, request{path: victims(40)[n%40].path, service: "receive-pack", body: body}) // it is counted
		})
	},
}

// noises are the first bytes of a blob that is never whole.
var noises = sync.OnceValue(func() []byte { return stored(noise(16<<20, 2)) })

// stored is a beginning of a deflated stream that holds bytes as they are, some four times over.
func stored(b []byte) []byte {
	out := []byte{0x78, 0x01}
	for range 4 {
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 65_535)
			out = append(out, 0, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
			out = append(out, rest[:n]...)
			rest = rest[n:]
		}
	}
	return out
}

// fewFiles has clients take the files that a process may have.
var fewFiles = attack{
	name:   "few-files",
	hosts:  true,
	files:  512,
	builds: 10 * time.Second,
	does:   "40 addresses open 50 connections each, and make 40 clones at a time, where the process may have 512 files open",
	bound:  "clients, other relays, git and the store have a share each of the files; a failure for want of one passes",
	prepare: func(ctx context.Context, s *scene) error {
		return s.settle(ctx, newPlace("victim", "victim"))
	},
	strike: func(ctx context.Context, s *scene) error {
		holding := make(chan error, 1)
		go func() { holding <- holders(ctx, s, openKind, 50, addresses(40)) }()
		tip, _ := firstCommit("victimvictim")
		_ = filtered(ctx, s, newPlace("victim", "victim"), tip, 40, 1) // it only ends with ctx
		return <-holding
	},
}

// coMaintainers has graspd bring what one pushes to the repositories of many.
var coMaintainers = attack{
	name:    "co-maintainers",
	hosts:   true,
	builds:  10 * time.Second, // until all have announced it
	does:    "4 addresses, a push at a time each of 16 MB to a repository with 32 maintainers, each of whom has it too",
	prepare: func(context.Context, *scene) error { largeFile(); return nil },
	bound:   "repositories share the files of packs that are the same; what graspd brings to others is heavy work of who pushed",
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(4), 1, func(ctx context.Context, c *caller, n int64) {
			tip, pack := largeUpload(n)
			s.led(ctx, c, n, pack, ref{mainRef, tip})
		})
	},
}

// slowCoMaintainers does so with what is slow to read.
var slowCoMaintainers = attack{
	name:    "slow-co-maintainers",
	hosts:   true,
	builds:  10 * time.Second, // until all have announced it
	does:    "4 addresses, a push at a time each of 2,000 commits that are deltas of one of 1 MB, which are taken, or of 40 MB, to a repository with 32 maintainers, each of whom has it too",
	bound:   "the same; a commit has a MiB at most",
	prepare: func(context.Context, *scene) error { slowPush(); tooSlowPush(); return nil },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(4), 1, func(ctx context.Context, c *caller, n int64) {
			pack, refs := slowPush()
			if n%4 == 0 {
				pack, refs = tooSlowPush()
			}
			s.led(ctx, c, n, pack, refs...)
		})
	},
}

var (
	slowPush    = sync.OnceValues(func() ([]byte, []ref) { return slowHistory(2000, mostCommit, appendSize) })
	tooSlowPush = sync.OnceValues(func() ([]byte, []ref) { return slowHistory(80, 40<<20, appendSize) })
)

// led pushes to a new repository that 32 maintain, who each announce it.
func (s *scene) led(ctx context.Context, c *caller, n int64, pack []byte, refs ...ref) {
	p := newPlace(fmt.Sprint("leader", n), fmt.Sprint("crowd", n))
	l := &line{url: s.url, from: c.from}
	defer l.down()
	for i := range 32 {
		p.maintainers = append(p.maintainers, fmt.Sprint("member", n, "-", i))
	}
	for _, m := range p.maintainers {
		q := newPlace(m, p.d)
		q.maintainers = []string{p.by}
		if err := publishEach(ctx, l, q.announcement()); err != nil {
			break
		}
	}
	s.signedRefs(ctx, c, p, pack, refs...)
}

// newRepositories makes as many as one address can.
var newRepositories = attack{
	name:  "new-repositories",
	hosts: true,
	does:  "one address, 4 at a time: repositories, each by a key of its own, with an announcement, a state and a push",
	bound: "an address and its network make so many an hour",
	strike: func(ctx context.Context, s *scene) error {
		tip, objects := firstCommit("new")
		pack := packOf(objects...).end()
		return callers(ctx, s, addresses(1), 4, func(ctx context.Context, c *caller, n int64) {
			s.signedRefs(ctx, c, newPlace(fmt.Sprint("maker", n), fmt.Sprint("new", n)), pack, ref{mainRef, tip})
		})
	},
}

// takenAway asks for what those who signed for it have taken back.
var takenAway = attack{
	name:  "taken-away",
	hosts: true,
	does:  "20 addresses, 2 at a time: fetches by id of a commit that was a branch's until its owner signed another state",
	bound: "graspd refuses the ids of tips that were taken away",
	prepare: func(ctx context.Context, s *scene) error {
		p := newPlace("regretful", "secret")
		tip, objects := firstCommit("secret")
		if err := s.settleRefs(ctx, p, packOf(objects...).end(), ref{mainRef, tip}); err != nil {
			return err
		}
		l := &line{url: s.url, from: on(helperNet, 0)}
		defer l.down()
		next, more := firstCommit("public")
		if err := publishEach(ctx, l, p.state(ref{mainRef, next})); err != nil {
			return err
		}
		return newCaller(s.url, on(helperNet, 0), nil).push(ctx, p, pushBody(tip, packOf(more...).end(), ref{mainRef, next}))
	},
	strike: func(ctx context.Context, s *scene) error {
		tip, _ := firstCommit("secret")
		return callers(ctx, s, addresses(20), 2, func(ctx context.Context, c *caller, n int64) {
			if err := c.clone(ctx, newPlace("regretful", "secret"), tip); err == nil {
				s.fault("a commit that was taken back is given to who knows its id")
			}
		})
	},
}
