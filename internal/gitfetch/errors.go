package gitfetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/pktline"
	"github.com/graspd/graspd/internal/publicnet"
	"github.com/graspd/graspd/internal/words"
)

var (
	// ErrTooMuch says that a server sends more than is taken from it: refs, bytes of them, or bytes of packs.
	ErrTooMuch = errors.New("more than is taken from a server")
	// ErrSilent says that a server sends nothing for too long, or too little, or is not through in time.
	ErrSilent = errors.New("silent, or too slow")
)

// StatusError says that a server answered with a status other than 200.
type StatusError struct {
	Code       int           // HTTP status, such as 429
	RetryAfter time.Duration // what the Retry-After header asks for, at most a day; 0 where it says nothing
	Text       string        // the beginning of the answer, printable
}

// Error gives the status with its usual text and the beginning of the answer.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Code, http.StatusText(e.Code))
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// ServerError is what a git server says instead of an answer, or in the middle of one.
type ServerError struct {
	Text string // printable, and cut
}

func (e *ServerError) Error() string { return "the server says: " + e.Text }

// ProtocolError says that a URL leads to no git server, or that the server breaks the protocol, or wants what is not spoken here.
type ProtocolError struct {
	Text string // printable, and cut
}

func (e *ProtocolError) Error() string { return e.Text }

func protocol(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}

// quote shows what a server wrote.
func quote[T string | []byte](p T) string {
	return "'" + words.Printable(string(p[:min(len(p), words.MaxText)])) + "'"
}

// said is the error that a server gives in its own words.
func said(text []byte) error {
	text = bytes.TrimRight(text[:min(len(text), words.MaxText)], "\r\n")
	return &ServerError{words.Printable(string(text))}
}

// typed reports whether an error is one of those that callers tell apart.
func typed(err error) bool {
	for _, known := range []error{ErrTooMuch, ErrSilent, publicnet.ErrForbidden} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, status := errors.AsType[*StatusError](err)
	_, server := errors.AsType[*ServerError](err)
	_, protocol := errors.AsType[*ProtocolError](err)
	return status || server || protocol
}

// fault gives an error of reading or writing as one that callers tell apart, if it is one. Where the context has ended, that is the
// reason: it closed the connection, and every other error follows from that. The exchange is over then.
func (s *exchange) fault(op string, err error) error {
	var lost error
	if s.conn != nil {
		lost = s.conn.wire.err
		s.close()
	}
	switch why := s.ended(); {
	case why != nil:
		return fmt.Errorf("%s: %w", op, why)
	case errors.Is(lost, ErrSilent):
		return fmt.Errorf("%s: %w", op, lost)
	case typed(err):
		return err
	case errors.Is(err, pktline.ErrTooMuch):
		return fmt.Errorf("%s: %w: %w", op, ErrTooMuch, err)
	case errors.Is(err, pktline.ErrMalformed):
		return protocol("%s: %s", op, words.Printable(err.Error()))
	case lost != nil:
		return publicnet.Error{Op: op, Err: unexpected(lost)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return protocol("%s: the answer is cut short", op)
	}
	return protocol("%s: %s", op, words.Printable(err.Error()))
}

// unexpected names the end of a connection in the middle of an answer.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
