package relayconn

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
)

// maxHeader is how many bytes an answer may have up to the end of its header, with interim (1xx) answers before it.
const maxHeader = 32 << 10

// exchange is an http.RoundTripper for one request over one open connection. A handshake needs no more: no proxy, no pool, no
// second try, no decompression, no background reader that logs what a stranger sends out of turn.
type exchange struct{ conn net.Conn }

// RoundTrip sends the request and reads the answer. The body of a 101 is the connection itself; closing any body closes
// the connection.
func (x exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Write(x.conn); err != nil {
		return nil, err
	}
	header := &io.LimitedReader{R: x.conn, N: maxHeader}
	r := bufio.NewReader(header)
	for {
		resp, err := http.ReadResponse(r, req)
		if err != nil && header.N <= 0 {
			return nil, errors.New("the header of the answer is too long")
		}
		if err != nil {
			return nil, err
		}
		switch {
		case resp.StatusCode == http.StatusSwitchingProtocols:
			resp.Body = &flood{ReadWriteCloser: upgraded{r, x.conn}}
		case resp.StatusCode >= http.StatusOK:
			resp.Body = body{resp.Body, x.conn}
		default:
			continue
		}
		header.N = math.MaxInt64
		return resp, nil
	}
}

// client wraps the exchange in a client that follows no redirects, for the WebSocket library.
func (x exchange) client() *http.Client {
	return &http.Client{
		Transport:     x,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// body is the body of an answer. Closing it closes the connection. Unlike a body of net/http, it can be closed while a Read of it waits.
type body struct {
	io.Reader
	io.Closer
}

// upgraded is the connection after a 101. It first reads the bytes left in the buffer.
type upgraded struct {
	io.Reader
	io.WriteCloser
}
