package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// lawless pushes packs that are none.
var lawless = attack{
	name:  "lawless-packs",
	hosts: true,
	does: "20 addresses, 2 pushes at a time each, under signed states: packs with a wrong sum, a wrong count, cut off, of a million objects that do not come, " +
		"with deltas of what is not there or of others' objects, with objects that nothing needs",
	bound:   "no object enters a repository before it is proven to be whole, and none that nothing needs",
	prepare: func(ctx context.Context, s *scene) error { return s.settle(ctx, victims(1)...) },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(20), 2, func(ctx context.Context, c *caller, n int64) {
			tip, objects := firstCommit(fmt.Sprint(n))
			kinds := lawlessPacks(objects)
			if err := s.signed(ctx, c, newPlace(fmt.Sprint("outlaw", n), "x"), tip, kinds[n%int64(len(kinds))]); err != nil && ctx.Err() == nil {
				s.got.heard(err.Error())
			}
		})
	},
}

// lawlessPacks are one of each kind, of a commit with all that it needs. The last one has that, and more.
func lawlessPacks(objects []object) (all [][]byte) {
	good := packOf(objects...).end()
	wrong := bytes.Clone(good)
	wrong[len(wrong)-1] ^= 1
	stranger := packOf(objects...)
	stranger.delta(blob("not here").sum(), 100, 100, 2)
	theirs := packOf(objects[1:]...) // the file itself is a delta of a victim's
	v := victims(1)[0]
	base := blob(v.by + v.d)
	theirs.delta(base.sum(), len(base.body), len(base.body), 2)
	more := packOf(objects...)
	for i := range 1000 {
		more.add(blobSort, nil, fmt.Append(nil, "nobody needs ", i))
	}
	return [][]byte{
		wrong, packOf(objects...).claiming(1000), good[:len(good)-30], packOf().claiming(1_000_000), packOf(objects...).claiming(2_000_000_000),
		stranger.end(), theirs.end(), more.end(),
	}
}

// manyRefs has as many refs judged, written and shown as there may be.
var manyRefs = attack{
	name:  "many-refs",
	hosts: true,
	does:  "20 addresses: states with 1,500 refs, pushed and changed again and again, and pushes with 10,000 commands that nobody signed",
	bound: "an event has 128 KiB and 2,000 tags, a push 20,480 commands and 8 MiB of them; graspd judges them before it reads a byte of the pack",
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(20), 1, func(ctx context.Context, c *caller, n int64) {
			p := newPlace(fmt.Sprint("many", n), "refs")
			l := &line{url: s.url, from: c.from}
			defer l.down()
			if err := publishEach(ctx, l, p.announcement()); err != nil {
				return
			}
			var old gitwire.ObjectID
			for i := range 4 {
				tip, objects := firstCommit(fmt.Sprint(n, i))
				if err := publishEach(ctx, l, p.state(refsTo(tip, 1500)...)); err != nil {
					return
				}
				_ = c.push(ctx, p, pushBody(old, packOf(objects...).end(), refsTo(tip, 1500)...)) // it is counted
				_ = c.push(ctx, p, pushBody(old, packOf(objects...).end(), refsTo(tip, 10_000)...))
				old = tip
			}
		})
	},
}

// refsTo are so many branches at a commit.
func refsTo(tip gitwire.ObjectID, n int) (all []ref) {
	for i := range n {
		all = append(all, ref{fmt.Sprintf("refs/heads/branch-%05d", i), tip})
	}
	return all
}

// oddNames are such as others take for options and paths.
var oddNames = []string{
	"--upload-pack=touch x", "-x", "..", "../../../../etc/passwd", "%2e%2e%2fx", "a/../../b", ".git", "x\x00y", "x\ny", "$(id)", "`id`", "a b", "ref^{}", "@{-1}", "x.lock",
	strings.Repeat("n", 3000), "é\u202e", "HEAD", "refs/heads/main", "%", "%zz", "a%00b", "~", "file:///etc/passwd", "ext::sh -c id",
}

// strangeNames are in URLs, identifiers and refs.
var strangeNames = attack{
	name:  "strange-names",
	hosts: true,
	does:  "10 addresses, 2 requests at a time each: names like options, paths, other encodings and programs, as identifiers, in URLs and as refs, with signed states and without",
	bound: "nothing that strangers write is a path or an argument: directories have random names, refs and ids go through a pipe",
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(10), 2, func(ctx context.Context, c *caller, n int64) {
			odd := oddNames[n%int64(len(oddNames))]
			tip, objects := firstCommit(fmt.Sprint(n))
			body := packOf(objects...).end()
			p := newPlace(fmt.Sprint("odd", n), odd)
			_ = s.signed(ctx, c, p, tip, body) // some are no events
			_ = c.push(ctx, p, pushBody(gitwire.ObjectID{}, body, ref{"refs/heads/" + odd, tip}, ref{odd, tip}))
			escaped := strings.NewReplacer("\x00", "%00", "\n", "%0a", " ", "%20").Replace(odd)
			for _, path := range []string{"/" + escaped + "/x.git", p.path + "/../" + escaped, "/npub1/" + escaped + ".git"} {
				_, _ = c.do(ctx, request{path: path}) // it is counted
				_, _ = c.do(ctx, request{path: path, service: "receive-pack", body: bytes.NewReader(body)})
			}
		})
	},
}

// crawlers fetch parts of a large history.
var crawlers = attack{
	name:  "crawlers",
	hosts: true,
	does:  "40 addresses, 2 fetches at a time each of a history of 20,000 commits: all of it, without files, shallow ones of any depth, commits by id",
	bound: "graspd keeps packs for those who ask again, and makes twice as many at once as there are processors, in turns of addresses; who waits for a minute gets 429",
	prepare: func(ctx context.Context, s *scene) error {
		return s.settleWith(ctx, historyPlace(), history().tip, history().objects)
	},
	strike: func(ctx context.Context, s *scene) error {
		h := history()
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			bodies := [][]byte{
				want(h.tip), want(h.tip, "filter blob:none\n"), want(h.tip, fmt.Sprintf("deepen %d\n", 1+n%5000)), want(h.objects[3*(n*7919%20_000)+2].id()),
			}
			_, _ = c.do(ctx, request{path: historyPlace().path, service: "upload-pack", version2: true, body: bytes.NewReader(bodies[n%int64(len(bodies))])}) // it is counted
		})
	},
}

func historyPlace() *place { return newPlace("historian", "history") }

// history is 20,000 commits, each of which changes a file: a file, a tree and a commit each.
var history = sync.OnceValue(func() (h struct {
	tip     gitwire.ObjectID
	objects []object
}) {
	var parents []gitwire.ObjectID
	for i := range int64(20_000) {
		file := blob(fmt.Sprintf("this is version %d\n", i))
		dir := tree(file.sum(), "a", "b", "c")
		c := commit(dir.id(), i, parents...)
		h.objects = append(h.objects, file, dir, c)
		h.tip, parents = c.id(), []gitwire.ObjectID{c.id()}
	}
	return h
})
