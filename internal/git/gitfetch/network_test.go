package gitfetch_test

import (
	"bufio"
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
	"testing"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
	"github.com/graspd/graspd/internal/test/testkit/pipe"
)

// network is an internet in memory: names that resolve, addresses at which a function answers each request of a connection. What is not
// in hosts swallows the attempt until its context ends. The test ends when all that it serves has ended, so a connection that stays
// open is a deadlock.
type network struct {
	names map[string][]string
	hosts map[string]site

	serving sync.WaitGroup
	mu      sync.Mutex
	dialed  []string
	asked   []string // method, host, URI
	bodies  []string
	raw     map[string]func(net.Conn) // addresses that are no servers of HTTP
}

// site answers a request, and says whether the connection goes on.
type site func(c io.Writer, q *http.Request) bool

// one is a network with git.example at 1.1.1.1 alone, whose requests are answered with these in turn, the last one again and again.
func one(t *testing.T, answers ...string) *network {
	t.Helper()
	n := &network{names: map[string][]string{"git.example": {"1.1.1.1"}}}
	var mu sync.Mutex
	serve := func(c io.Writer, q *http.Request) bool {
		mu.Lock()
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		mu.Unlock()
		_, err := io.WriteString(c, answer)
		return err == nil
	}
	n.hosts = map[string]site{"1.1.1.1:80": serve}
	t.Cleanup(n.serving.Wait)
	return n
}

func (n *network) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []netip.Addr
	for _, s := range n.names[host] {
		out = append(out, netip.MustParseAddr(s))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, addr)
	serve, raw := n.hosts[addr], n.raw[addr]
	n.mu.Unlock()
	near, far := pipe.New("9.9.9.9:1", addr, nil, nil)
	switch {
	case raw != nil:
		n.serving.Go(func() { raw(far) })
	case serve != nil:
		n.serving.Go(func() { n.answer(far, serve) })
	default:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return near, nil
}

func (n *network) answer(c net.Conn, serve site) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		n.mu.Lock()
		n.asked = append(n.asked, q.Method+" "+q.Host+" "+q.RequestURI)
		n.bodies = append(n.bodies, string(body))
		n.mu.Unlock()
		if !serve(c, q) {
			return
		}
	}
}

func (n *network) seen() (dialed, asked []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dialed), slices.Clone(n.asked)
}

func (n *network) client(b gitfetch.Bounds) *gitfetch.Client {
	return gitfetch.New(gitfetch.Config{Net: publicnet.Config{Lookup: n.lookup, DialContext: n.dial}, Bounds: b})
}

const url = "http://git.example/r.git"

// frames writes lines as pkt-lines; "flush", "delim" and "end" are the special frames, and what begins with "raw:" stands as it is.
func frames(lines ...string) string {
	var dst []byte
	for _, line := range lines {
		if raw, is := strings.CutPrefix(line, "raw:"); is {
			dst = append(dst, raw...)
			continue
		}
		switch line {
		case "flush":
			dst = pktline.AppendFlush(dst)
		case "delim":
			dst = pktline.AppendDelim(dst)
		case "end":
			dst = pktline.AppendResponseEnd(dst)
		default:
			dst = pktline.Append(dst, line)
		}
	}
	return string(dst)
}

// answer is an HTTP answer with these frames.
func answer(contentType string, lines ...string) string {
	body := frames(lines...)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-%s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
}

// open is one whose body has no end but that of the connection.
func open(contentType string, lines ...string) string {
	return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/x-git-upload-pack-" + contentType + "\r\n\r\n" + frames(lines...)
}

func hexOf(digit string) string { return strings.Repeat(digit, 40) }

func id(digit string) gitwire.ObjectID {
	id, err := gitwire.ParseObjectID(hexOf(digit))
	if err != nil {
		panic(err)
	}
	return id
}

// The usual answers of a server of version 2 with one branch, and of one of version 0.
var (
	offers2 = answer("advertisement", "version 2\n", "agent=git/2\n", "ls-refs=unborn\n", "fetch=shallow\n", "object-format=sha1\n", "flush")
	refs2   = answer("result", hexOf("1")+" HEAD symref-target:refs/heads/main\n", hexOf("1")+" refs/heads/main\n", "flush")
	pack2   = answer("result", "packfile\n", "\x02Counting\n", "\x01PACK", "\x01", "\x01 and more", "flush")
	words0  = "\x00side-band-64k ofs-delta thin-pack symref=HEAD:refs/heads/main allow-reachable-sha1-in-want agent=git/1 object-format=sha1"
	offers0 = answer("advertisement", "# service=git-upload-pack\n", "flush", hexOf("1")+" HEAD"+words0+"\n", hexOf("1")+" refs/heads/main\n", "flush")
	pack0   = answer("result", "NAK\n", "\x02Counting\n", "\x01PACK", "\x01 and more", "flush")
)

// wanted asks for objects by their digits, each a group, and collects packs.
func wanted(packs *[]string, digits ...string) gitfetch.Request {
	r := gitfetch.Request{URL: url, Pack: func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
		b, err := io.ReadAll(pack)
		if err == nil && packs != nil {
			*packs = append(*packs, string(b))
		}
		return err
	}}
	for _, d := range digits {
		r.Groups = append(r.Groups, []gitwire.ObjectID{id(d)})
	}
	return r
}
