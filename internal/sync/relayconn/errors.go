package relayconn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"

	"github.com/coder/websocket"
)

// ErrBinary says that Read has dropped a binary frame, which Nostr does not have. The connection lives on.
var ErrBinary = errors.New("binary frame")

// HandshakeError says that the relay answered with another HTTP status instead of a WebSocket, or instead of its information document. A
// redirect is such an answer, as graspd follows none.
type HandshakeError struct {
	Status     int           // HTTP status, such as 429
	RetryAfter time.Duration // the wait that the Retry-After header asks for, at most a day; 0 where it says nothing
	Text       string        // the beginning of the answer, escaped
}

// HTTPStatus returns the status of the answer.
func (e *HandshakeError) HTTPStatus() int { return e.Status }

// Error returns the status with its usual text, and the beginning of the answer.
func (e *HandshakeError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

func handshakeError(resp *http.Response, body []byte) *HandshakeError {
	return &HandshakeError{Status: resp.StatusCode, RetryAfter: publicnet.RetryAfter(resp.Header.Get("Retry-After")), Text: safetext.Printable(string(body))}
}

// ClosedError says that the relay closed the connection with a close frame (RFC 6455, 7.1.5 and 7.1.6).
type ClosedError struct {
	Code   int    // such as 1000 (normal) or 1013 (try again later)
	Reason string // escaped
}

// Error returns code and reason.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("closed by the relay: %d %s", e.Code, e.Reason)
}

// remote turns an error of the WebSocket library, or of a connection, into one of ours. Where ctx has ended, that is the reason: the end
// closed the connection, and every other error follows from that.
func remote(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	if c, ok := errors.AsType[websocket.CloseError](err); ok {
		return fmt.Errorf("%s: %w", op, &ClosedError{Code: int(c.Code), Reason: safetext.Printable(c.Reason)})
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // leave out the URL, which the caller adds
	}
	return publicnet.Error{Op: op, Err: err}
}
