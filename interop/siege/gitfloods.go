package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// A request that is small on its way has graspd parse, look up and answer much.
var (
	manyCommands = flooding("many-commands", "pushes with 20,480 refs of events that nobody knows", "receive-pack", func(tip gitwire.ObjectID) []byte {
		var refs []ref
		for i := range int64(20_480) {
			refs = append(refs, ref{nostrRef(i*7919 + 1), tip})
		}
		return pushBody(gitwire.ObjectID{}, nil, refs...)
	})
	manyPrefixes = flooding("many-prefixes", "lists of refs with 65,000 prefixes", "upload-pack", func(gitwire.ObjectID) []byte {
		return listed("command=ls-refs", 65_000, func(i int) string { return fmt.Sprintf("ref-prefix refs/heads/%024d", i*7919%65_537) })
	})
	manyHaves = flooding("many-haves", "fetches with 32,000 commits that the client says to have", "upload-pack", func(tip gitwire.ObjectID) []byte {
		return listed("command=fetch", 32_002, func(i int) string {
			switch i {
			case 0:
				return "want " + tip.String()
			case 32_001:
				return "done"
			}
			return fmt.Sprintf("have %040x", i*7919+1)
		})
	})
	manySizes = flooding("many-sizes", "requests for the sizes of 16,000 objects", "upload-pack", func(gitwire.ObjectID) []byte {
		return listed("command=object-info", 16_001, func(i int) string {
			if i == 0 {
				return "size"
			}
			return fmt.Sprintf("oid %040x", i*7919+1)
		})
	})
)

// listed is a request of version 2 with so many arguments.
func listed(command string, n int, line func(i int) string) []byte {
	var b bytes.Buffer
	b.WriteString(packetLine(command) + "0001")
	for i := range n {
		b.WriteString(packetLine(line(i)))
	}
	b.WriteString("0000")
	return b.Bytes()
}

func flooding(name, what, service string, body func(tip gitwire.ObjectID) []byte) attack {
	return attack{
		name:    name,
		hosts:   true,
		does:    "one address, 16 at a time: " + what + ", gzip-ed",
		bound:   "an address pays for a request by what is in it before graspd parses it, and has one large body parsed at a time; nothing of it is looked up in the writer",
		prepare: func(ctx context.Context, s *scene) error { return s.settle(ctx, newPlace("victim", "victim")) },
		strike: func(ctx context.Context, s *scene) error {
			tip, _ := firstCommit("victimvictim")
			small := zip(body(tip))
			return callers(ctx, s, addresses(1), 16, func(ctx context.Context, c *caller, _ int64) {
				_, _ = c.do(ctx, request{path: newPlace("victim", "victim").path, service: service, version2: service == "upload-pack", gzipped: true,
					body: bytes.NewReader(small)}) // it is counted
			})
		},
	}
}

// advertised has long lists of refs made and sent again and again.
var advertised = attack{
	name:  "advertised-refs",
	hosts: true,
	does:  "one address, 16 at a time: the list of 1,000 refs with names of 60 bytes, in each version of the protocol, as fast as it is read",
	bound: "a list of refs is written once for a state of the repository; what is answered counts against the bytes of an address",
	prepare: func(ctx context.Context, s *scene) error {
		pack, refs := manyNames()
		return s.settleRefs(ctx, newPlace("lister", "list"), pack, refs...)
	},
	strike: func(ctx context.Context, s *scene) error {
		p := newPlace("lister", "list")
		all := listed("command=ls-refs", 2, func(i int) string { return []string{"peel", "symrefs"}[i] })
		return callers(ctx, s, addresses(1), 16, func(ctx context.Context, c *caller, n int64) {
			q := request{path: p.path}
			if n%2 == 0 {
				q = request{path: p.path, service: "upload-pack", version2: true, body: bytes.NewReader(all)}
			}
			_, _ = c.do(ctx, q) // it is counted
		})
	},
}

var manyNames = sync.OnceValues(func() ([]byte, []ref) {
	tip, objects := firstCommit("list")
	refs := []ref{{mainRef, tip}}
	for i := range 1000 {
		refs = append(refs, ref{fmt.Sprintf("refs/heads/%s%04d", strings.Repeat("n", 45), i), tip})
	}
	return packOf(objects...).end(), refs
})
