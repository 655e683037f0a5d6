package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// tildes has texts rendered that are slow to render.
var tildes = attack{
	name:  "slow-texts",
	hosts: true,
	does:  "one address, 14 at a time: pages of a repository whose README, and of issues whose text, is 100 KB of tildes, each text another one",
	bound: "a render has a deadline, and what was rendered is kept; an address has few of the places where pages are made",
	prepare: func(ctx context.Context, s *scene) error {
		tip, objects := textOf("README.md", "x"+strings.Repeat("~", 100_000))
		return s.settleRefs(ctx, newPlace("writer", "text"), packOf(objects...).end(), ref{mainRef, tip})
	},
	strike: func(ctx context.Context, s *scene) error {
		p := newPlace("writer", "text")
		return callers(ctx, s, addresses(1), 14, func(ctx context.Context, c *caller, n int64) {
			path := p.path
			if n%4 > 0 {
				e := &nostr.Event{CreatedAt: time.Now().Unix(), Kind: 1621, Content: fmt.Sprint(n/4, strings.Repeat("~", 100_000)),
					Tags: nostr.Tags{{"a", p.announcement().Address()}, {"subject", "hello"}}}
				if err := key("writer").Sign(e, [32]byte{}); err != nil {
					panic(err) // key and event are our own
				}
				l := &line{url: s.url, from: c.from}
				_ = publishEach(ctx, l, e) // the page is asked for all the same
				l.down()
				path += "/issues/" + nip19.Note(e.ID)
			}
			_ = c.page(ctx, path) // it is counted
		})
	},
}

// textOf is a commit with a file of that name and text.
func textOf(name, text string) (tip gitwire.ObjectID, objects []object) {
	file := blob(text)
	dir := tree(file.sum(), name)
	c := commit(dir.id(), 0)
	return c.id(), []object{file, dir, c}
}

// slowHistories has histories read that are slow to read, each state anew.
var slowHistories = attack{
	name:  "slow-histories",
	hosts: true,
	does:  "one address, 8 at a time: the page of a repository of a thousand branches, each a delta of a commit of a MB, of which a state comes each second",
	bound: "an address has few of the places where pages are made; a look at a history has limits, and one that failed counts for the repository, whatever its state",
	prepare: func(ctx context.Context, s *scene) error {
		pack, refs := slowLooks()
		return s.settleRefs(ctx, newPlace("looker", "slow"), pack, refs...)
	},
	strike: func(ctx context.Context, s *scene) error {
		_, refs := slowLooks()
		p := newPlace("looker", "slow")
		p.at.Add(1)
		var states sync.WaitGroup
		states.Go(func() {
			l := &line{url: s.url, from: addresses(1)[0]}
			defer l.down()
			for i := 0; sleep(ctx, time.Second) == nil; i++ {
				if err := publishEach(ctx, l, p.state(refs[:len(refs)-1-i%100]...)); err != nil {
					l.down()
				}
			}
		})
		err := callers(ctx, s, addresses(1), 8, func(ctx context.Context, c *caller, _ int64) {
			_ = c.page(ctx, p.path) // it is counted
		})
		states.Wait()
		return err
	},
}

var slowLooks = sync.OnceValues(func() ([]byte, []ref) { return slowHistory(1000, 1_000_000, appendSize) })

// searches has what is stored searched for words.
var searches = attack{
	name:  "searches",
	does:  "9 addresses, 20 connections each: REQs that search for 20 words, each another one, as fast as they are answered",
	bound: "a search is metered as every query is, by the steps that it takes; what takes long has half of the processors, in turns; beyond its rates an address waits",
	strike: func(ctx context.Context, s *scene) error {
		return crowd(ctx, s, addresses(9), 20, func(ctx context.Context, c *stranger, number int) bool {
			for i := 0; ; i++ {
				var words []string
				for w := range 20 {
					words = append(words, fmt.Sprintf("w%d", number*1_000_000+i*20+w))
				}
				ask := fmt.Sprintf(`["REQ","s",{"kinds":[1621,1617,1618,30617],"search":%q,"limit":500}]`, strings.Join(words, " "))
				if !c.send(1, text([]byte(ask))) || sleep(ctx, 10*time.Millisecond) != nil {
					return false
				}
			}
		})
	},
}

// liveSearches has new events searched that are large, for words of which each but one is in them.
var liveSearches = attack{
	name:  "live-searches",
	does:  "9 addresses, 10 connections each: subscriptions with 1,280 filters that search new issues for 85 words, and issues of 120 KB that have all of these but one",
	bound: "who asked for more than a few looks at a new event has them in their own time, and pays for them",
	strike: func(ctx context.Context, s *scene) error {
		var there []string
		for n := 10; n < 94; n++ {
			there = append(there, fmt.Sprint(n))
		}
		words := strings.Join(there, " ")
		filter := `,{"kinds":[1621],"search":"` + words + ` zz","limit":0}`
		long := strings.Repeat("1a2a3a4a5a6a7a8a9a ", 6200) + words
		return crowd(ctx, s, addresses(9), 10, func(ctx context.Context, c *stranger, number int) bool {
			for i := range 64 {
				if !c.send(1, text(fmt.Appendf(nil, `["REQ","%d"%s]`, i, strings.Repeat(filter, 20)))) {
					return false
				}
			}
			by := fmt.Sprint("searcher", number)
			repository := announce(by, "searched", "")
			for more := []*nostr.Event{repository}; ; more = []*nostr.Event{sign(by, 1621, "an issue ", nostr.Tag{"a", repository.Address()}, nostr.Tag{"subject", long})} {
				for _, e := range more {
					if !c.send(1, text(fmt.Appendf(nil, `["EVENT",%s]`, e.AppendJSON(nil)))) {
						return false
					}
				}
				if sleep(ctx, time.Second) != nil {
					return false
				}
			}
		})
	},
}

// slowPatches has patches and files shown that are slow to read.
var slowPatches = attack{
	name:  "slow-patches",
	hosts: true,
	does:  "one address, 14 at a time: pages of patches whose names of files are 120 KB of spaces, each another one, of files of 127 KB in a language within another one, and of 2,000 tags whose names have 50 numbers",
	bound: "what libraries read is cut to what they read in time beforehand; who asks pays for the time; an address has few of the places where pages are made",
	prepare: func(ctx context.Context, s *scene) error {
		tip, objects := textOf("page.svelte", strings.Repeat("<", 127<<10))
		refs := []ref{{mainRef, tip}}
		for i := range 2000 {
			refs = append(refs, ref{"refs/tags/v" + strings.Repeat("1.", 49) + fmt.Sprint(i), tip})
		}
		return s.settleRefs(ctx, newPlace("patcher", "text"), packOf(objects...).end(), refs...)
	},
	strike: func(ctx context.Context, s *scene) error {
		p := newPlace("patcher", "text")
		return callers(ctx, s, addresses(1), 14, func(ctx context.Context, c *caller, n int64) {
			path := p.path + []string{"/blob/main/page.svelte", "/tags", "", ""}[n%4]
			if n%4 > 1 {
				e := sign("patcher", 1617, fmt.Sprintf("From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nSubject: [PATCH] %d\n\ndiff --git a/x%sy\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
					n, strings.Repeat(" ", 120<<10)), nostr.Tag{"a", p.announcement().Address()}, nostr.Tag{"t", "root"})
				l := &line{url: s.url, from: c.from}
				_ = publishEach(ctx, l, e) // the page is asked for all the same
				l.down()
				path += "/patches/" + nip19.Note(e.ID)
			}
			_ = c.page(ctx, path) // it is counted
		})
	},
}
