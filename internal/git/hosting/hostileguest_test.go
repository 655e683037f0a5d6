package hosting_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// guest is a client of git that does what chance says, on one connection after another.
type guest struct {
	*hostile
	r *rand.Rand
	n int
}

// visit is one connection and its requests.
func (g *guest) visit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+g.r.IntN(8000))*time.Millisecond) // then it vanishes
	defer cancel()
	from := netip.AddrFrom4([4]byte{127, 9, 1, byte(g.n)})
	if g.n%2 == 0 { // they are many
		from = netip.AddrFrom4([4]byte{127, 9, 0, 1})
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		return
	}
	raw := c.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if g.r.IntN(3) == 0 {
		_ = raw.SetLinger(0) // it ends in a reset
	}
	if g.r.IntN(4) == 0 {
		_ = raw.SetReadBuffer(4 << 10)
	}
	read, reader := make(chan struct{}), rand.New(rand.NewPCG(uint64(g.n), g.r.Uint64()))
	go func() { // it reads while it writes, as libcurl does
		defer close(read)
		g.reads(ctx, raw, reader)
	}()
	for range 1 + g.r.IntN(4) {
		what, request := g.request()
		g.tally.add(what, 1)
		if !g.writes(ctx, raw, request) {
			break
		}
	}
	switch g.r.IntN(3) {
	case 0: // at once
		cancel()
	case 1:
		_ = raw.CloseWrite()
	}
	<-read
	_ = raw.Close()
}

// reads reads what comes, at once or slowly, to its end or not.
func (g *guest) reads(ctx context.Context, c net.Conn, r *rand.Rand) {
	most, pause := int64(8<<20), time.Duration(0)
	switch r.IntN(5) {
	case 0:
		most = r.Int64N(100_000)
	case 1:
		pause = time.Duration(r.IntN(200)) * time.Millisecond
	case 2:
		most = 0
	}
	b := make([]byte, 1+r.IntN(32<<10))
	for most > 0 && ctx.Err() == nil {
		n, err := c.Read(b[:min(int64(len(b)), most)])
		if most -= int64(n); err != nil {
			break
		}
		wait(ctx, pause)
	}
	g.tally.add("connections", 1)
	if r.IntN(2) == 0 {
		wait(ctx, time.Duration(r.IntN(1000))*time.Millisecond)
	}
}

// writes writes a request in pieces, and reports whether to go on.
func (g *guest) writes(ctx context.Context, c net.Conn, request []byte) bool {
	if g.r.IntN(6) == 0 { // cut off
		request = request[:g.r.IntN(len(request)+1)]
	}
	piece, pause := len(request), time.Duration(0)
	if g.r.IntN(3) == 0 {
		piece, pause = 1+g.r.IntN(20_000), time.Duration(g.r.IntN(100))*time.Millisecond
	}
	for len(request) > 0 && ctx.Err() == nil {
		n := min(piece, len(request))
		if _, err := c.Write(request[:n]); err != nil {
			return false
		}
		request = request[n:]
		wait(ctx, pause)
	}
	return ctx.Err() == nil
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// request is a request of HTTP, and what it is.
func (g *guest) request() (what string, request []byte) {
	at := ok(url.Parse(g.cloneURL(g.repo))).Path
	switch g.r.IntN(12) {
	case 0:
		at = strings.Replace(at, "tool", "nothing", 1)
	case 1:
		at = "/prs" + at
	}
	version := gitwire.Version(g.r.IntN(3))
	switch g.r.IntN(10) {
	case 0:
		return "requests for refs", g.head("GET", at+"/info/refs?service=git-upload-pack", version, "")
	case 1:
		return "requests for refs to push to", g.head("GET", at+"/info/refs?service=git-receive-pack", version, "")
	case 2:
		return "requests of no sense", g.nonsense(at)
	case 3:
		return "lists of refs", g.post(at+"/git-upload-pack", "git-upload-pack", 2, g.list())
	case 4, 5, 6:
		return "fetches", g.post(at+"/git-upload-pack", "git-upload-pack", version, g.fetch(version))
	}
	return "pushes", g.post(at+"/git-receive-pack", "git-receive-pack", version, g.push())
}

func (g *guest) head(method, path string, v gitwire.Version, more string) []byte {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, strings.TrimPrefix(g.url, "http://"))
	if v > 0 {
		text += fmt.Sprintf("Git-Protocol: version=%d\r\n", v)
	}
	return []byte(text + more + "\r\n")
}

// post is a request with a body: of a known length or in chunks, packed or not, or with another length than it says.
func (g *guest) post(path, service string, v gitwire.Version, body []byte) []byte {
	more := "Content-Type: application/x-" + service + "-request\r\n"
	if g.r.IntN(4) == 0 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body)
		_ = z.Close()
		body, more = b.Bytes(), more+"Content-Encoding: gzip\r\n"
	}
	if g.r.IntN(2) == 0 {
		more += "Transfer-Encoding: chunked\r\n"
		var b bytes.Buffer
		for piece := 1 + g.r.IntN(64<<10); len(body) > 0; body = body[min(piece, len(body)):] {
			n := min(piece, len(body))
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		}
		b.WriteString("0\r\n\r\n")
		body = b.Bytes()
	} else {
		length := len(body)
		if g.r.IntN(10) == 0 {
			length = g.r.IntN(2*length + 1)
		}
		more += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return append(g.head("POST", path, v, more), body...)
}

// id is an object that is there, or is none.
func (g *guest) id() gitwire.ObjectID {
	if g.r.IntN(8) == 0 {
		return ok(gitwire.ParseObjectID(fmt.Sprintf("%040x", g.r.Uint64())))
	}
	return g.tips[g.r.IntN(len(g.tips))]
}

func (g *guest) ids(most int) (ids []gitwire.ObjectID) {
	for range g.r.IntN(most + 1) {
		ids = append(ids, g.id())
	}
	return ids
}

func (g *guest) list() []byte {
	q := gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{Peel: true, Symrefs: g.r.IntN(2) == 0}}
	for i := range g.r.IntN(200) {
		q.LsRefs.Prefixes = append(q.LsRefs.Prefixes, fmt.Sprintf("refs/heads/%03d", i))
	}
	if g.r.IntN(3) == 0 {
		q = gitwire.Request{Version: 2, ObjectInfo: &gitwire.ObjectInfo{Size: true, IDs: g.ids(500)}}
	}
	return g.broken(q.AppendTo(nil))
}

func (g *guest) fetch(v gitwire.Version) []byte {
	f := &gitwire.Fetch{Version: v, Wants: append(g.ids(3), g.id()), Haves: g.ids(3), Done: g.r.IntN(4) > 0, OfsDelta: true, ThinPack: g.r.IntN(2) == 0,
		Sideband: 65520 * g.r.IntN(2), NoProgress: g.r.IntN(2) == 0}
	switch g.r.IntN(5) {
	case 0:
		f.Depth = 1 + g.r.IntN(5)
	case 1:
		f.Filter = gitwire.Filter{Kind: gitwire.FilterBlobLimit, Limit: g.r.Int64N(5000)}
	case 2:
		f.Filter = gitwire.Filter{Kind: []gitwire.FilterKind{gitwire.FilterBlobNone, gitwire.FilterTreeZero}[g.r.IntN(2)]}
	}
	return g.broken(gitwire.Request{Version: v, Fetch: f}.AppendTo(nil))
}

// push is a list of commands that nobody may bring, or that says what is so already, with a pack or something else behind it.
func (g *guest) push() []byte {
	p := &gitwire.Push{Report: gitwire.ReportStatus, Sideband: g.r.IntN(2) == 0, Atomic: g.r.IntN(4) == 0, WithPushOptions: g.r.IntN(4) == 0}
	for i := range 1 + g.r.IntN(3) {
		ref := []string{"refs/heads/main", fmt.Sprint("refs/heads/x", i), "refs/tags/v1", fmt.Sprintf("refs/nostr/%064x", g.r.Uint64()), "HEAD"}[g.r.IntN(5)]
		c := gitwire.Command{Ref: ref, New: g.id()}
		if g.r.IntN(6) == 0 {
			c.Old, c.New = c.New, c.Old
		}
		p.Commands = append(p.Commands, c)
	}
	if p.WithPushOptions {
		p.Options = []string{"ci.skip", strings.Repeat("x", g.r.IntN(60_000))}
	}
	body := g.broken(p.AppendTo(nil))
	pack := g.packs[g.r.IntN(len(g.packs))]
	switch g.r.IntN(8) {
	case 0:
		pack = pack[:g.r.IntN(len(pack))]
	case 1:
		pack = bytes.Clone(pack)
		pack[g.r.IntN(len(pack))] ^= 1 << g.r.IntN(8)
	case 2: // a claim of many objects, and nothing
		pack = append([]byte("PACK\x00\x00\x00\x02\x00\x00\xff\xff"), make([]byte, g.r.IntN(2<<20))...)
	}
	return append(body, pack...)
}

// broken changes some requests at a byte.
func (g *guest) broken(b []byte) []byte {
	if len(b) > 0 && g.r.IntN(10) == 0 {
		b[g.r.IntN(len(b))] ^= 1 << g.r.IntN(8)
	}
	return b
}

func (g *guest) nonsense(at string) []byte {
	switch g.r.IntN(5) {
	case 0:
		b := make([]byte, g.r.IntN(5000))
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
		return b
	case 1:
		return g.head("POST", at+"/info/lfs/locks/verify", 0, "Content-Length: 2\r\n")
	case 2:
		return g.head("DELETE", at+"/HEAD", 0, "")
	case 3:
		return g.post(at+"/git-receive-pack", "git-receive-pack", 0, []byte("0000"))
	}
	return g.post(at+"/git-upload-pack", "git-upload-pack", 2, []byte(strings.Repeat("0001", g.r.IntN(1000))))
}
