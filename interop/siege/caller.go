package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// caller is a client of git's protocol at one address.
type caller struct {
	c    *http.Client
	from netip.Addr
	base string // where graspd listens
	t    *tally // nil for the honest
}

func newCaller(url string, from netip.Addr, t *tally) *caller {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: 10 * time.Second}
	return &caller{
		c: &http.Client{
			Transport:     &http.Transport{DialContext: d.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		from: from, base: "http" + strings.TrimPrefix(url, "ws"), t: t,
	}
}

// request is one of git's protocol.
type request struct {
	path     string // of the repository
	service  string // upload-pack or receive-pack; "" is for the refs
	version2 bool
	gzipped  bool
	body     io.Reader
}

// answer is what came of it. text is its beginning.
type answer struct {
	status int
	text   []byte
	said   string // why git is refused something, in a frame of its protocol; "" where it is not
	size   int64
	last   []byte // the last four bytes
}

const mostText = 64 << 10

// do makes a request and reads the answer to its end.
func (c *caller) do(ctx context.Context, q request) (a answer, err error) {
	r, err := q.http(ctx, c.base)
	if err != nil {
		return a, err
	}
	if c.t != nil {
		c.t.messages.Add(1)
		if r.Body != nil {
			r.Body = counted{r.Body, c.t}
		}
	}
	got, err := c.c.Do(r)
	if err == nil {
		a.status = got.StatusCode
		err = a.read(got.Body)
	}
	if c.t != nil && ctx.Err() == nil {
		c.t.frames.Add(1)
		c.t.got.Add(a.size)
		c.t.heard(a.verdict(err))
	}
	return a, err
}

func (q request) http(ctx context.Context, base string) (*http.Request, error) {
	method, url := http.MethodGet, base+q.path+"/info/refs?service=git-upload-pack"
	if q.service != "" {
		method, url = http.MethodPost, base+q.path+"/git-"+q.service
	}
	r, err := http.NewRequestWithContext(ctx, method, url, q.body)
	if err != nil {
		return nil, err
	}
	if q.service != "" {
		r.Header.Set("Content-Type", "application/x-git-"+q.service+"-request")
	}
	if q.version2 {
		r.Header.Set("Git-Protocol", "version=2")
	}
	if q.gzipped {
		r.Header.Set("Content-Encoding", "gzip")
	}
	return r, nil
}

func (a *answer) read(body io.ReadCloser) error {
	defer body.Close()
	var end tail
	all := io.TeeReader(body, io.MultiWriter(&end, a))
	if a.status == http.StatusOK {
		a.said = refusalIn(all)
	}
	_, err := io.Copy(io.Discard, all)
	a.last = end
	return err
}

// Write counts what comes, and keeps its beginning.
func (a *answer) Write(b []byte) (int, error) {
	a.size += int64(len(b))
	a.text = append(a.text, b[:min(len(b), mostText-len(a.text))]...)
	return len(b), nil
}

// refusalIn reads an answer of git's protocol as git does, frame by frame, up to the first in which something is refused.
func refusalIn(answer io.Reader) string {
	frames := pktline.NewReader(answer, math.MaxInt64)
	var report []byte // of a push; it has frames of its own, in the first band
	for {
		kind, line, err := frames.Next()
		if err != nil {
			break
		}
		if kind != pktline.Data || len(line) == 0 {
			continue
		}
		switch pktline.Band(line[0]) {
		case pktline.BandError:
			return string(pktline.Line(line[1:]))
		case pktline.BandData:
			report = append(report, line[1:min(len(line), 1+mostText-len(report))]...)
		case pktline.BandProgress:
		default:
			if why := refusal(line); why != "" {
				return why
			}
		}
	}
	if len(report) > 0 && !bytes.HasPrefix(report, []byte("PACK")) {
		return refusalIn(bytes.NewReader(report))
	}
	return ""
}

// refusal is the reason in a line that refuses something.
func refusal(line []byte) string {
	text := string(pktline.Line(line))
	if why, ok := strings.CutPrefix(text, "ERR "); ok {
		return why
	}
	if why, ok := strings.CutPrefix(text, "unpack "); ok && why != "ok" {
		return why
	}
	if ref, ok := strings.CutPrefix(text, "ng "); ok {
		_, why, _ := strings.Cut(ref, " ")
		return why
	}
	return ""
}

// tail keeps the last four bytes.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b[max(0, len(b)-4):]...)
	*t = (*t)[max(0, len(*t)-4):]
	return len(b), nil
}

// counted counts what is sent.
type counted struct {
	io.ReadCloser
	t *tally
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.t.sent.Add(int64(n))
	return n, err
}

var (
	strange  = regexp.MustCompile(`npub1[0-9a-z]+…?|\b[0-9a-f]{7,}…?|\b\d\d:\d\d:\d\d\b`)
	connPart = regexp.MustCompile(`(?:\d+\.){3}\d+:\d+(->)?`)
)

// verdict says in a few words what the answer was: ok, or why not.
func (a *answer) verdict(err error) string {
	text := "ok"
	switch {
	case err != nil:
		text = "cut: " + connPart.ReplaceAllString(rootOf(err).Error(), "")
	case a.status != http.StatusOK:
		text = strings.TrimSpace(string(a.text[:min(len(a.text), 200)]))
	case a.said != "":
		text = a.said
	}
	text = strings.Join(strings.Fields(strange.ReplaceAllString(text, "…")), " ")
	return strings.ReplaceAll(text[:min(len(text), 120)], "|", "/")
}

// rootOf is the error that an error comes from.
func rootOf(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// page asks for a page as a browser does, and fails where there is none.
func (c *caller) page(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/html")
	if c.t != nil {
		c.t.messages.Add(1)
	}
	got, err := c.c.Do(r)
	var a answer
	if err == nil {
		a.status = got.StatusCode
		_, err = io.Copy(&a, got.Body)
		got.Body.Close()
	}
	why := "ok"
	if err != nil || a.status != http.StatusOK {
		why = a.verdict(err)
	}
	if c.t != nil && ctx.Err() == nil {
		c.t.frames.Add(1)
		c.t.got.Add(a.size)
		c.t.heard(why)
	}
	if why != "ok" {
		return errors.New(why)
	}
	return nil
}

// push posts a push, and fails where not all of it is taken.
func (c *caller) push(ctx context.Context, p *place, body []byte) error {
	a, err := c.do(ctx, request{path: p.path, service: "receive-pack", body: bytes.NewReader(body)})
	if why := a.verdict(err); why != "ok" {
		return errors.New(why)
	}
	return nil
}

// want is the body of a request for all of a commit.
func want(id fmt.Stringer, more ...string) []byte {
	var b bytes.Buffer
	line := func(s string) { fmt.Fprintf(&b, "%04x%s", len(s)+4, s) }
	line("command=fetch\n")
	b.WriteString("0001")
	for _, s := range append([]string{"ofs-delta\n", "no-progress\n", "want " + id.String() + "\n"}, more...) {
		line(s)
	}
	line("done\n")
	b.WriteString("0000")
	return b.Bytes()
}

// clone has all of a repository made into a pack, whose bytes are dropped.
func (c *caller) clone(ctx context.Context, p *place, id fmt.Stringer) error {
	if a, err := c.do(ctx, request{path: p.path, version2: true}); a.verdict(err) != "ok" {
		return errors.New(a.verdict(err))
	}
	a, err := c.do(ctx, request{path: p.path, service: "upload-pack", version2: true, body: bytes.NewReader(want(id))})
	if why := a.verdict(err); why != "ok" {
		return errors.New(why)
	}
	if string(a.last) != "0000" {
		return fmt.Errorf("the pack ends early, after %d bytes", a.size)
	}
	return nil
}
