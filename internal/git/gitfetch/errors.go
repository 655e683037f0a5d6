package gitfetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

var (
	// ErrTooMuch says that a server sends more than a bound allows: refs, bytes of refs, or bytes of packs.
	ErrTooMuch = errors.New("more than is taken from a server")
	// ErrSilent says that a server sent nothing for too long, or sent too slowly, or did not end in time.
	ErrSilent = errors.New("silent, or too slow")
)

// StatusError says that a server answered with a status other than 200.
type StatusError struct {
	Code       int           // HTTP status, such as 429
	RetryAfter time.Duration // what the Retry-After header asks for, at most a day; 0 where it says nothing
	Text       string        // the beginning of the answer, printable
}

// Error returns the status with its usual text, and the beginning of the answer.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Code, http.StatusText(e.Code))
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// ServerError is the error that a git server sent instead of an answer, or in the middle of one.
type ServerError struct {
	Text string // printable, and cut
}

func (e *ServerError) Error() string { return "the server says: " + e.Text }

// ProtocolError says that a URL leads to no git server, that the server breaks the protocol, or that the server wants what graspd does not
// speak.
type ProtocolError struct {
	Text string // printable, and cut
}

func (e *ProtocolError) Error() string { return e.Text }

func protocol(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}

// quote shows what a server wrote.
func quote[T string | []byte](p T) string {
	return "'" + safetext.Printable(string(p[:min(len(p), safetext.MaxText)])) + "'"
}

// said makes a ServerError of a server's own words.
func said(text []byte) error {
	text = bytes.TrimRight(text[:min(len(text), safetext.MaxText)], "\r\n")
	return &ServerError{safetext.Printable(string(text))}
}

// typed reports whether an error has one of the types that callers tell apart.
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

// fault turns an error of reading or writing into one that callers tell apart, where it can. The end of the context is the error wherever
// it came: it closed the connection, and every other error follows from that. After an error the exchange is over.
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
		return protocol("%s: %s", op, safetext.Printable(err.Error()))
	case lost != nil:
		return publicnet.Error{Op: op, Err: unexpected(lost)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return protocol("%s: the answer is cut short", op)
	}
	return protocol("%s: %s", op, safetext.Printable(err.Error()))
}

// unexpected makes io.ErrUnexpectedEOF of an end in the middle of an answer.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
