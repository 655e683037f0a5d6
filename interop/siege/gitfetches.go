package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// leftOutBases has git make large blobs anew for each small one.
var leftOutBases = attack{
	name:  "left-out-bases",
	hosts: true,
	does:  "one address, 8 fetches at a time of a pack of 1 MB, each with another filter, which leaves out the blobs of 15 MB that 12,000 small ones are deltas of",
	bound: "one party has half of the slots at most and gives way when others have waited for seconds; time of the processor by the size of the repository, and what ran into that is remembered",
	prepare: func(ctx context.Context, s *scene) error {
		pack, refs := leftOut()
		return s.settleRefs(ctx, newPlace("filterer", "filter"), pack, refs...)
	},
	strike: func(ctx context.Context, s *scene) error {
		_, refs := leftOut()
		return filtered(ctx, s, newPlace("filterer", "filter"), refs[0].id, 1, 8)
	},
}

var leftOut = sync.OnceValues(func() ([]byte, []ref) {
	p := &pack{}
	var bases []named
	var entries []byte
	entry := func(name string, o object) {
		sum := o.sum()
		entries = append(fmt.Appendf(entries, "100644 %s\x00", name), sum[:]...)
	}
	for i := range 4 {
		base := object{blobSort, make([]byte, 15<<20)}
		base.body[0] = byte(i)
		p.add(base.sort, nil, base.body)
		bases = append(bases, base.named())
		entry(fmt.Sprintf("a%d", i), base)
	}
	for i := range 12_000 {
		small := blob(fmt.Sprintf("small %08d", i))
		p.naming(bases[i%len(bases)], small, appendSize)
		entry(fmt.Sprintf("f%07d", i), small)
	}
	dir := object{treeSort, entries}
	tip := commit(dir.id(), 0)
	p.add(dir.sort, nil, dir.body)
	p.add(tip.sort, nil, tip.body)
	return p.end(), []ref{{mainRef, tip.id()}}
})

// filtered fetches a commit again and again, with another filter each time.
func filtered(ctx context.Context, s *scene, p *place, tip gitwire.ObjectID, from, atOnce int) error {
	return callers(ctx, s, addresses(from), atOnce, func(ctx context.Context, c *caller, n int64) {
		body := want(tip, fmt.Sprintf("filter blob:limit=%d\n", 1000+n))
		_, _ = c.do(ctx, request{path: p.path, service: "upload-pack", version2: true, body: bytes.NewReader(body)}) // it is counted
	})
}

// largeCommits has git hold commits in memory that are larger than anybody writes.
var largeCommits = attack{
	name:  "large-commits",
	hosts: true,
	does:  "40 addresses, 2 at a time each: pushes of a commit of 400 MB, and shallow fetches of 200 commits of 1 MB, which are taken",
	bound: "a commit has a MiB at most, and a process of git a GiB of memory",
	prepare: func(ctx context.Context, s *scene) error {
		largeCommit()
		pack, refs := manyLargeCommits()
		return s.settleRefs(ctx, newPlace("hoarder", "memory"), pack, refs...)
	},
	strike: func(ctx context.Context, s *scene) error {
		pack, refs := largeCommit()
		_, taken := manyLargeCommits()
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			if n%8 == 0 { // 400 kB
				s.signedRefs(ctx, c, newPlace(fmt.Sprint("hoarder", n), "memory"), pack, refs...)
				return
			}
			body := want(taken[0].id, fmt.Sprintf("deepen %d\n", 1+n%200))
			_, _ = c.do(ctx, request{path: newPlace("hoarder", "memory").path, service: "upload-pack", version2: true, body: bytes.NewReader(body)}) // it is counted
		})
	},
}

var largeCommit = sync.OnceValues(func() ([]byte, []ref) {
	file := blob("large")
	dir := tree(file.sum(), "a")
	tip := commit(dir.id(), 0)
	tip.body = append(tip.body, bytes.Repeat([]byte("z"), 400<<20)...)
	p := packOf(file, dir)
	p.add(tip.sort, nil, tip.body)
	return p.end(), []ref{{mainRef, tip.id()}}
})

// manyLargeCommits is a history of commits that are as large as may be.
var manyLargeCommits = sync.OnceValues(func() ([]byte, []ref) {
	file := blob("large")
	dir := tree(file.sum(), "a")
	p := packOf(file, dir)
	var parents []gitwire.ObjectID
	for i := range int64(200) {
		c := commit(dir.id(), i, parents...)
		c.body = append(c.body, bytes.Repeat([]byte("z"), mostCommit-len(c.body))...)
		p.add(c.sort, nil, c.body)
		parents = []gitwire.ObjectID{c.id()}
	}
	return p.end(), []ref{{mainRef, parents[0]}}
})

// mostCommit is the size of commits that graspd takes.
const mostCommit = 1_000_000

// smallAsks keeps the processes of git, and their memory, busy with little while somebody clones much.
var smallAsks = attack{
	name:  "small-asks",
	hosts: true,
	does:  "40 addresses, 4 fetches at a time each of a small repository, each with another filter, while somebody else clones a repository of 64 MB again and again",
	bound: "memory for processes of git goes to who has had least and then to who waits longest; nobody who asks for much is passed for ever",
	prepare: func(ctx context.Context, s *scene) error {
		if err := s.large(ctx); err != nil {
			return err
		}
		return s.settle(ctx, newPlace("victim", "victim"))
	},
	strike: func(ctx context.Context, s *scene) error {
		var beside sync.WaitGroup
		beside.Go(func() { s.clonesMuch(ctx) })
		defer beside.Wait()
		tip, _ := firstCommit("victimvictim")
		return filtered(ctx, s, newPlace("victim", "victim"), tip, 40, 4)
	},
}

// clonesMuch is an honest client who clones a large repository until ctx ends, each time in a way that nobody has before.
func (s *scene) clonesMuch(ctx context.Context) {
	c, began, whole := newCaller(s.url, on(honestNet, 9), nil), time.Now(), 0
	for n := 0; ctx.Err() == nil; n++ {
		body := want(largeTip(), fmt.Sprintf("filter blob:limit=%d\n", 1<<30+n))
		a, err := c.do(ctx, request{path: largePlace().path, service: "upload-pack", version2: true, body: bytes.NewReader(body)})
		if ctx.Err() != nil {
			break
		}
		if why := a.verdict(err); why != "ok" {
			s.fault("a clone of 64 MB is refused: " + why)
		} else if string(a.last) != "0000" {
			s.fault("a clone of 64 MB ends early")
		} else {
			whole++
		}
		_ = sleep(ctx, beat)
	}
	if whole == 0 {
		s.fault(fmt.Sprintf("no clone of 64 MB came to its end in %s", span(time.Since(began))))
	}
	s.got.heard(fmt.Sprintf("clones of 64 MB by the honest: %d", whole))
}

// keptPacks has as many packs kept as may be, each of which is an open file.
var keptPacks = attack{
	name:   "kept-packs",
	hosts:  true,
	files:  1024,
	builds: 10 * time.Second,
	does:   "40 addresses, 4 fetches at a time each of a small repository, twice with each filter, where the process may have 1,024 files open",
	bound:  "200 packs are kept and 200 sent at once; clients, other relays, git and the store have a share each of the files",
	prepare: func(ctx context.Context, s *scene) error {
		return s.settle(ctx, newPlace("victim", "victim"))
	},
	strike: func(ctx context.Context, s *scene) error {
		tip, _ := firstCommit("victimvictim")
		return callers(ctx, s, addresses(40), 4, func(ctx context.Context, c *caller, n int64) {
			for range 2 {
				body := want(tip, fmt.Sprintf("filter blob:limit=%d\n", 1000+n))
				_, _ = c.do(ctx, request{path: newPlace("victim", "victim").path, service: "upload-pack", version2: true, body: bytes.NewReader(body)}) // it is counted
			}
		})
	},
}
