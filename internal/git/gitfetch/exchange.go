package gitfetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// exchange is one fetch: the requests that it takes, one after the other, over one connection where the server lets it.
type exchange struct {
	client *Client
	base   string // the repository's URL without a slash at the end, after redirects
	exempt []grasp.Source
	typed  bool // the operator implies the URL, and each that redirects have led to
	alive  func()
	ended  func() error // why the context has ended, nil while it has not

	conn  *conn // nil while there is none
	res   Result
	left  int64 // bytes of packs that may still come
	given map[gitwire.ObjectID]bool
	kept  map[gitwire.ObjectID]bool // whether what was refused by id may be there all the same

	withholds bool // some of it may, so that the caller may ask for more
}

// ask is one HTTP request.
type ask struct {
	path    string // below the repository's URL
	body    []byte // nil to get
	version gitwire.Version
	answer  string // content type that is asked for
}

const (
	advertPath = "/info/refs?service=git-upload-pack"
	uploadPath = "/git-upload-pack"
	advertType = "application/x-git-upload-pack-advertisement"
	askType    = "application/x-git-upload-pack-request"
	answerType = "application/x-git-upload-pack-result"
)

// request makes the HTTP request. It has no cookies, no credentials but those that the caller has for this server, and asks for no
// compression.
func (s *exchange) request(ctx context.Context, q ask) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if q.body != nil {
		method, body = http.MethodPost, bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+q.path, body)
	if err != nil {
		return nil, protocol("not a URL")
	}
	req.Header = http.Header{"User-Agent": {s.client.cfg.Agent}, "Accept": {q.answer}, "Accept-Encoding": {"identity"}}
	if q.body != nil {
		req.Header.Set("Content-Type", askType)
	}
	if sign := s.client.cfg.Authorization; sign != nil {
		if value := sign(s.base); value != "" {
			req.Header.Set("Authorization", value)
		}
	}
	if q.version > 0 {
		req.Header.Set("Git-Protocol", fmt.Sprintf("version=%d", q.version))
	}
	return req, nil
}

// do sends a request and reads the head of its answer. The server may have ended a connection that was used before, which is no fault: then
// do makes the request once more on a new one.
func (s *exchange) do(ctx context.Context, q ask) (*http.Response, error) {
	for {
		req, err := s.request(ctx, q)
		if err != nil {
			return nil, err
		}
		again := s.conn != nil
		if !again {
			if err := s.connect(ctx, req.URL); err != nil {
				return nil, err
			}
		}
		s.res.Requests++
		resp, err := s.conn.exchange(req, s.client.cfg.Bounds.Answer)
		if err == nil {
			return resp, nil
		}
		stale := again && s.conn.idleEnd() && s.ended() == nil
		if err = s.fault("request", err); !stale {
			return nil, err
		}
	}
}

// post asks upload-pack, and checks that git answers.
func (s *exchange) post(ctx context.Context, v gitwire.Version, body []byte) (*http.Response, error) {
	resp, err := s.do(ctx, ask{path: uploadPath, body: body, version: v, answer: answerType})
	if err != nil {
		return nil, err
	}
	return resp, s.check(resp, answerType)
}

// connect opens a connection to where the URL leads, under the rule for addresses.
func (s *exchange) connect(ctx context.Context, u *url.URL) error {
	t, err := s.client.net.Target(u, s.typed)
	if err != nil {
		return s.notDialed(err)
	}
	dial, cancel := context.WithTimeout(ctx, s.client.cfg.Bounds.Dial)
	defer cancel()
	c, raw, err := s.client.net.Connect(dial, t)
	if err != nil {
		return s.notConnected(err)
	}
	s.conn = newConn(c, raw, context.AfterFunc(ctx, func() { raw.Close() }), &s.client.cfg.Bounds, s.came)
	return nil
}

// notDialed makes the error of a URL to which no connection is opened.
func (s *exchange) notDialed(err error) error {
	if typed(err) {
		return err
	}
	return protocol("%s", safetext.Printable(err.Error()))
}

// notConnected makes the error of a connection that did not come about. Only the end of the caller's own context counts as the end of one.
func (s *exchange) notConnected(err error) error {
	if why := s.ended(); why != nil {
		return fmt.Errorf("connect: %w", why)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: no connection within %v", ErrSilent, s.client.cfg.Bounds.Dial)
	}
	return err
}

func (s *exchange) came(n int) {
	s.res.Bytes += int64(n)
	if s.alive != nil {
		s.alive()
	}
}

// close ends the connection; the next request opens another.
func (s *exchange) close() {
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}

// check requires the status, encoding and content type that git's answers have.
func (s *exchange) check(resp *http.Response, contentType string) error {
	if resp.StatusCode != http.StatusOK {
		return s.refused(resp)
	}
	if packed(resp) {
		s.close()
		return protocol("the answer comes as %s, which was not asked for", quote(resp.Header.Get("Content-Encoding")))
	}
	got, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && got == contentType {
		return nil
	}
	defer s.close()
	start := make([]byte, 64)
	n, _ := io.ReadFull(resp.Body, start)
	if contentType == advertType && dumb(start[:n]) {
		return protocol("no git server, but files of a repository (the dumb protocol)")
	}
	return protocol("no git server: the answer is of type %s", quote(resp.Header.Get("Content-Type")))
}

func packed(resp *http.Response) bool {
	e := strings.TrimSpace(resp.Header.Get("Content-Encoding"))
	return e != "" && !strings.EqualFold(e, "identity")
}

// dumb reports whether an answer begins as the file info/refs of a repository does.
func dumb(start []byte) bool {
	text, _, is := bytes.Cut(start, []byte("\t"))
	_, err := gitwire.ParseObjectID(text)
	return is && err == nil
}

// refused makes the error of an answer with another status. It closes the connection: the rest of the answer is not read.
func (s *exchange) refused(resp *http.Response) error {
	e := &StatusError{Code: resp.StatusCode, RetryAfter: publicnet.RetryAfter(resp.Header.Get("Retry-After"))}
	if !packed(resp) {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, safetext.MaxText)) // for the log; the status says enough
		e.Text = safetext.Printable(strings.TrimSpace(string(text)))
	}
	if why := s.ended(); why != nil {
		return fmt.Errorf("request: %w", why)
	}
	s.close()
	return e
}

// finish requires that the answer is over, and keeps the connection for the next request where the server allows that.
func (s *exchange) finish(resp *http.Response) error {
	var more [1]byte
	switch n, err := io.ReadFull(resp.Body, more[:]); {
	case n > 0:
		s.close()
		return protocol("the answer goes on after its end")
	case err != io.EOF:
		return err
	}
	if resp.Close || s.conn != nil && s.conn.buf.Buffered() > 0 {
		s.close()
	}
	return nil
}
