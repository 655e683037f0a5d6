package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// codePages has pages of files and commits made.
var codePages = attack{
	name:    "code-pages",
	hosts:   true,
	does:    "40 addresses, 2 at a time each: pages of a folder of 20,000 files, of files of 125 KB with colours, of commits that change all of such a file and of one of 950 lines, of histories, of what is not there, each of another of 150 commits",
	bound:   "pages are made one for two processors, in turns of who had least made; who asks pays for the time of git and of colours; git has limits, and what was made is kept by content",
	prepare: preparePages,
	strike: func(ctx context.Context, s *scene) error {
		p := pagesPlace()
		refs := pagesRepo().refs
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			r := refs[n*7919%int64(len(refs))]
			name := strings.TrimPrefix(r.name, "refs/heads/")
			_ = c.page(ctx, p.path+[]string{ // it is counted
				fmt.Sprintf("/tree/%s/big?page=%d", name, 1+n%40), "/blob/" + name + "/code.go", "/commit/" + r.id.String(), "/commits/" + name + "?from=" + r.id.String(),
				"/tree/" + name, fmt.Sprintf("/commits/%s/no/such/path/%d", name, n), fmt.Sprintf("/blob/%s/big/no%d", name, n),
			}[n%7])
		})
	},
}

// reviewPages has pull requests reviewed, searched for and fed.
var reviewPages = attack{
	name:    "review-pages",
	hosts:   true,
	does:    "40 addresses, 2 at a time each: the pages of 100 pull requests, each of up to 150 commits with a difference of 400 KB, lists of them that search for other words each time, and feeds of threads, commits and tags",
	bound:   "the same; lists and threads are read within the steps of a page",
	prepare: preparePages,
	strike: func(ctx context.Context, s *scene) error {
		p := pagesPlace()
		pulls := pagesPulls()
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			_ = c.page(ctx, p.path+[]string{ // it is counted
				"/pulls/" + nip19.Note(pulls[n*7919%int64(len(pulls))].ID), fmt.Sprintf("/pulls?q=w%d+x%d", n, n), "/commits.atom", "/releases.atom", "/pulls.atom", "/branches?page=2",
			}[n%6])
		})
	},
}

// archives has archives made.
var archives = attack{
	name:    "archives",
	hosts:   true,
	does:    "40 addresses, 2 at a time each: .tar.gz of 20,000 files, each of another of 150 commits and refs",
	bound:   "git makes them as it makes packs, in turns of addresses, within limits of time, memory and disk; who asks for the same shares one, which is kept; who waits for a minute gets 429",
	prepare: preparePages,
	strike: func(ctx context.Context, s *scene) error {
		p := pagesPlace()
		refs := pagesRepo().refs
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			r := refs[n*7919%int64(len(refs))]
			name := r.id.String()
			if n%2 == 0 {
				name = r.name
			}
			_ = c.page(ctx, p.path+"/archive/"+name+".tar.gz") // it is counted
		})
	},
}

func pagesPlace() *place { return newPlace("coder", "pages") }

func preparePages(ctx context.Context, s *scene) error {
	r := pagesRepo()
	if err := s.settleRefs(ctx, pagesPlace(), r.pack, r.refs...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := &line{url: s.url, from: on(helperNet, 1)}
	defer l.down()
	if err := publishEach(ctx, l, pagesPulls()...); err != nil {
		s.note = "before the attack: " + err.Error()
	}
	return ctx.Err()
}

// pagesRepo is a repository with a large folder and a large file that 150 commits change, each of which has a branch.
var pagesRepo = sync.OnceValue(func() (r struct {
	pack []byte
	refs []ref
}) {
	file := blob("x\n")
	var names []string
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("file%05d", i))
	}
	big := tree(file.sum(), names...)
	p := packOf(file, big)
	var parents []gitwire.ObjectID
	for i := range 150 {
		code, part := goCode(i, 1750), goCode(i, 950)
		sum := big.sum()
		dir := object{treeSort, append([]byte("40000 big\x00"), sum[:]...)}
		dir.body = append(dir.body, tree(code.sum(), "code.go").body...)
		dir.body = append(dir.body, tree(part.sum(), "part.go").body...)
		c := commit(dir.id(), int64(i), parents...)
		parents = []gitwire.ObjectID{c.id()}
		for _, o := range []object{code, part, dir, c} {
			p.add(o.sort, nil, o.body)
		}
		r.refs = append(r.refs, ref{fmt.Sprintf("refs/heads/b%03d", i), c.id()})
	}
	r.pack, r.refs = p.end(), append(r.refs, ref{mainRef, r.refs[0].id})
	return r
})

// goCode is so many lines of Go, of which no two are the same.
func goCode(number, lines int) object {
	var b strings.Builder
	for n := range lines {
		fmt.Fprintf(&b, "func f%d_%d(a int) (string, error) { return \"text\", g(%d) } // why\n", number, n, n*number)
	}
	return blob(b.String())
}

// pagesPulls are pull requests of these branches.
var pagesPulls = sync.OnceValue(func() (all []*nostr.Event) {
	p := pagesPlace()
	for i, r := range pagesRepo().refs[1:101] {
		all = append(all, signAt("reviewer", p.at.Load()+int64(i), 1618, nostr.Tag{"a", p.announcement().Address()}, nostr.Tag{"c", r.id.String()},
			nostr.Tag{"clone", ours.CloneURL(key("coder").PubKey(), "pages")}, nostr.Tag{"subject", fmt.Sprint("pull ", i)}))
	}
	return all
})
