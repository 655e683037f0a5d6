package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// inflating sends bodies that are small on the way.
var inflating = attack{
	name:  "inflating-bodies",
	hosts: true,
	does: "20 addresses, 4 requests at a time each: gzip-ed bodies that inflate a thousandfold, to gigabytes, as requests to fetch, as commands of a push " +
		"and as a pack that nobody has announced",
	bound:   "a body inflates to 32 times what was sent and a MiB, a request to fetch to 4 MiB at most and commands to 8 MiB; memory is granted as they are read",
	prepare: func(ctx context.Context, s *scene) error { return s.settle(ctx, newPlace("victim", "victim")) },
	strike: func(ctx context.Context, s *scene) error {
		p := newPlace("victim", "victim")
		kinds := []func(n int64) request{
			func(int64) request {
				return request{service: "upload-pack", version2: true, body: endless(zip([]byte("0011command=fetch0001")), wantLines)}
			},
			func(int64) request { return request{service: "receive-pack", body: endless(nil, shallowLines)} },
			func(n int64) request {
				head := pushBody(gitwire.ObjectID{}, []byte("PACK\x00\x00\x00\x02\x00\x0f\x00\x00"), ref{nostrRef(n), someID})
				return request{service: "receive-pack", body: endless(zip(head), zeros)}
			},
		}
		return callers(ctx, s, addresses(20), 4, func(ctx context.Context, c *caller, n int64) {
			q := kinds[n%int64(len(kinds))](n)
			q.path, q.gzipped = p.path, true
			_, _ = c.do(ctx, q) // it is counted
		})
	},
}

var someID = blob("some").id()

// What is repeated without end: commits that are wanted, that a history ends at, and no objects.
var (
	wantLines    = zip([]byte(strings.Repeat(packetLine("want "+someID.String()), 100_000)))
	shallowLines = zip([]byte(strings.Repeat(packetLine("shallow "+someID.String()), 100_000)))
	zeros        = zip(make([]byte, 16<<20))
)

func packetLine(s string) string { return fmt.Sprintf("%04x%s\n", len(s)+5, s) }

// zip is a text as a member of a gzip file, of which there may be any number.
func zip(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // into memory
	_ = z.Close()
	return b.Bytes()
}

// endless is a head and then the same so often that it would be gigabytes.
func endless(head, again []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(head), &repeated{text: again})
}

// repeated is a text again and again, most of it at a pace: what is inflated is to be the work, and not what is sent.
type repeated struct {
	text []byte
	n    int
}

func (r *repeated) Read(p []byte) (int, error) {
	const atOnce, each, most = 1 << 20, 32 << 10, 3 << 20
	if r.n > most { // it would have been gigabytes
		return 0, io.EOF
	}
	if r.n > atOnce {
		p = p[:min(len(p), each)]
		time.Sleep(each * time.Second / (1 << 20))
	}
	n := copy(p, r.text[r.n%len(r.text):])
	r.n += n
	return n, nil
}

// callers has n clients of each address make requests one after the other until ctx ends. Each request has a number.
func callers(ctx context.Context, s *scene, from []netip.Addr, n int, act func(ctx context.Context, c *caller, number int64)) error {
	var all sync.WaitGroup
	for _, a := range from {
		c := newCaller(s.url, a, &s.got)
		for range n {
			all.Go(func() {
				for ctx.Err() == nil {
					act(ctx, c, made.Add(1))
					_ = sleep(ctx, beat)
				}
			})
		}
	}
	all.Wait()
	return nil
}

// settle has places announced and given a first commit.
func (s *scene) settle(ctx context.Context, places ...*place) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i, p := range places {
		tip, objects := firstCommit(p.by + p.d)
		if err := s.settleFrom(ctx, on(helperNet, i/20), p, tip, objects); err != nil {
			return err
		}
	}
	return nil
}

// settleWith has a place announced and given a commit.
func (s *scene) settleWith(ctx context.Context, p *place, tip gitwire.ObjectID, objects []object) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.settleFrom(ctx, on(helperNet, 0), p, tip, objects)
}

func (s *scene) settleFrom(ctx context.Context, from netip.Addr, p *place, tip gitwire.ObjectID, objects []object) error {
	l := &line{url: s.url, from: from}
	defer l.down()
	main := ref{mainRef, tip}
	if err := publishEach(ctx, l, p.announcement(), p.state(main)); err != nil {
		return err
	}
	return newCaller(s.url, from, nil).push(ctx, p, pushBody(gitwire.ObjectID{}, packOf(objects...).end(), main))
}

// firstCommit is one with a file of that text.
func firstCommit(text string) (gitwire.ObjectID, []object) { return withFile([]byte(text)) }

// withFile is a commit with a file.
func withFile(content []byte) (gitwire.ObjectID, []object) {
	file := object{blobSort, content}
	dir := tree(file.sum(), "file")
	c := commit(dir.id(), 0)
	return c.id(), []object{file, dir, c}
}
