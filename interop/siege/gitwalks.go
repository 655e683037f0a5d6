package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// nestedTags has tags walked that name each other.
var nestedTags = attack{
	name:   "nested-tags",
	hosts:  true,
	does:   "40 addresses, a push at a time each, under signed states: 2,000 tags, each of the one before and a delta of it, and 1,400 refs that name them",
	bound:  "git's own processes walk, within their limits of time and memory; a tag is of eight others at most",
	strike: func(ctx context.Context, s *scene) error { return nests(ctx, s) },
	prepare: func(context.Context, *scene) error {
		nest()
		return nil
	},
}

func nests(ctx context.Context, s *scene) error {
	pack, refs := nest()
	return callers(ctx, s, addresses(40), 1, func(ctx context.Context, c *caller, n int64) {
		s.signedRefs(ctx, c, newPlace(fmt.Sprint("nester", n), "nest"), pack, refs...)
	})
}

// nest is a pack of such tags, and refs to them.
var nest = sync.OnceValues(func() ([]byte, []ref) {
	tip, objects := firstCommit("nest")
	p := packOf(objects...)
	last := objects[2]
	refs := []ref{{mainRef, tip}}
	for i := range 2000 {
		next := object{tagSort, fmt.Appendf(nil, "object %s\ntype %s\ntag t%05d\ntagger a <a@example.org> 1700000000 +0000\n\nx\n", last.id(), last.sort, i)}
		if i < 2 {
			p.add(tagSort, nil, next.body)
		} else {
			p.naming(last.named(), next, appendSize)
		}
		if last = next; i >= 600 {
			refs = append(refs, ref{fmt.Sprintf("refs/tags/%d", i), next.id()})
		}
	}
	return p.end(), refs
})

// signedRefs pushes a pack to a place that is announced for it, under a state that names these refs.
func (s *scene) signedRefs(ctx context.Context, c *caller, p *place, pack []byte, refs ...ref) {
	l := &line{url: s.url, from: c.from}
	defer l.down()
	if err := publishEach(ctx, l, p.announcement(), p.state(refs...)); err != nil {
		if ctx.Err() == nil {
			s.got.heard("an event is not taken")
		}
		return
	}
	_ = c.push(ctx, p, pushBody(gitwire.ObjectID{}, pack, refs...)) // it is counted
}

// settleRefs has a place announced and given what attackers need. What is refused is noted: then the attack is that it is tried.
func (s *scene) settleRefs(ctx context.Context, p *place, pack []byte, refs ...ref) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	from := on(helperNet, 0)
	l := &line{url: s.url, from: from}
	defer l.down()
	if err := publishEach(ctx, l, p.announcement(), p.state(refs...)); err != nil {
		return err
	}
	if err := newCaller(s.url, from, nil).push(ctx, p, pushBody(gitwire.ObjectID{}, pack, refs...)); err != nil {
		s.note = "before the attack: " + err.Error()
	}
	return ctx.Err()
}

// slowHistory is a pack of commits for each of which git makes one of so many bytes, of two in turn, and refs to them. size writes the sizes of the
// deltas.
func slowHistory(commits, bytesOf int, size func([]byte, int) []byte) ([]byte, []ref) {
	file := blob("slow")
	dir := tree(file.sum(), "README.md")
	heavy := func(n int64) object {
		c := commit(dir.id(), n)
		return object{commitSort, append(c.body, bytes.Repeat([]byte("z"), bytesOf-len(c.body))...)}
	}
	bases := []object{heavy(1), heavy(2)}
	names := []named{bases[0].named(), bases[1].named()}
	p := &pack{}
	refs := []ref{{"refs/heads/one", bases[0].id()}, {"refs/heads/two", bases[1].id()}}
	for i := range commits {
		small := commit(dir.id(), int64(1000+i))
		p.naming(names[i%2], small, size)
		if i == 0 { // the bases stand behind the first of the deltas
			for _, o := range append([]object{file, dir}, bases...) {
				p.add(o.sort, nil, o.body)
			}
		}
		refs = append(refs, ref{fmt.Sprintf("refs/heads/b%05d", i), small.id()})
	}
	return p.end(), refs
}

// longSizes hides how much work a pack is.
var longSizes = attack{
	name:    "long-sizes",
	hosts:   true,
	does:    "40 addresses, a push at a time each, under signed states: packs whose 2,000 deltas are of commits of 1 MB, which are taken, or of 40 MB, with each size written in seven bytes",
	bound:   "what cannot be weighed is heavy; a commit has a MiB at most",
	prepare: func(context.Context, *scene) error { longHistory(); tooLongHistory(); return nil },
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(40), 1, func(ctx context.Context, c *caller, n int64) {
			pack, refs := longHistory()
			if n%4 == 0 {
				pack, refs = tooLongHistory()
			}
			s.signedRefs(ctx, c, newPlace(fmt.Sprint("padder", n), "long"), pack, refs...)
		})
	},
}

var (
	longHistory    = sync.OnceValues(func() ([]byte, []ref) { return slowHistory(2000, mostCommit, appendLong) })
	tooLongHistory = sync.OnceValues(func() ([]byte, []ref) { return slowHistory(60, 40<<20, appendLong) })
)

// pulled has graspd fetch the nested tags by itself.
var pulled = attack{
	name:    "pulled-tags",
	hosts:   true,
	builds:  195 * time.Second, // a client who announces a repository has three minutes to push before graspd fetches
	flags:   append([]string{"--git-sync-concurrency", "8"}, syncing...),
	does:    "a git server of the attacker, which 40 announcements of 20 addresses name, gives out the pack of nested tags under signed states",
	bound:   "graspd proves what it fetches as it proves a push, in turns of owners",
	prepare: func(context.Context, *scene) error { nest(); return nil },
	strike: func(ctx context.Context, s *scene) error {
		pack, refs := nest()
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(on(relayNet, 0), 0)))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: &giver{pack: pack, refs: advertisedRefs(refs), t: &s.got}}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		for n, from := range slices.Concat(addresses(20), addresses(20)) {
			p := newPlace(fmt.Sprint("puller", n), "pull")
			p.elsewhere = []string{"http://" + l.Addr().String() + p.path}
			l := &line{url: s.url, from: from}
			if err := publishEach(ctx, l, p.announcement(), p.state(refs...)); err != nil && ctx.Err() == nil {
				s.got.heard("an event is not taken")
			}
			l.down()
		}
		<-ctx.Done()
		return nil
	},
}

func advertisedRefs(refs []ref) *gitwire.Refs {
	shown := &gitwire.Refs{Head: mainRef}
	for _, r := range refs {
		shown.List = append(shown.List, gitwire.Ref{Name: r.name, ID: r.id})
	}
	shown.Sort()
	return shown
}

// giver is a git server that gives everybody one pack.
type giver struct {
	pack []byte
	refs *gitwire.Refs
	t    *tally
}

// ServeHTTP answers in version 2 of git's protocol.
func (g *giver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	g.t.messages.Add(1)
	out, kind := g.answer(r, body)
	w.Header().Set("Content-Type", "application/x-git-upload-pack-"+kind)
	_, _ = w.Write(out) // graspd may have gone
}

func (g *giver) answer(r *http.Request, body []byte) (out []byte, kind string) {
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		return gitwire.AppendAdvertisement(nil, gitwire.UploadPack, 2, g.refs, "siege"), "advertisement"
	}
	q, err := gitwire.ParseRequest(bytes.NewReader(body), 2)
	switch {
	case err != nil:
		g.t.heard(err.Error())
	case q.LsRefs != nil:
		out = q.LsRefs.AppendAnswer(nil, g.refs)
	default:
		g.t.heard("fetched by graspd")
		out = pktline.Append(nil, "packfile\n")
		for rest := g.pack; len(rest) > 0; {
			n := min(len(rest), 60_000)
			out = pktline.AppendBand(out, pktline.Sideband64kFrame, pktline.BandData, rest[:n])
			rest = rest[n:]
		}
		out = pktline.AppendFlush(out)
	}
	return out, "result"
}
