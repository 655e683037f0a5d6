// Package gitwire has git's HTTP protocol as values, without a connection, a repository or a process: what clients ask
// (gitprotocol-http(5), gitprotocol-v2(5), gitprotocol-pack(5)) and what servers answer. The package parses requests within bounds and
// writes them again in one canonical form, so that a git process never reads what gitwire did not understand. The package writes
// advertisements, ls-refs and reports from plain values, byte for byte as git writes them. Read [Request] for fetches, [Push] for pushes
// and [Refs] for what a repository shows to both.
package gitwire

import (
	"errors"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// Bounds of one request. A request beyond one of them is refused, but for haves: a client only offers haves, so those beyond the bound are
// passed over.
const (
	MaxRequest  = 4 << 20 // bytes of the pkt-lines of a request to upload-pack
	MaxWants    = 16384   // ids and refs wanted, each counted once
	MaxInfo     = 10_000  // ids asked about; git asks about no more
	MaxHaves    = 32768   // ids that a client says to have, each counted once
	MaxShallows = 32768   // commits at which a client's history ends
	MaxExcludes = 256     // refs that a shallow history is to leave out
	MaxPrefixes = 8192    // prefixes of refs, six for each ref that git is told to fetch; as git does, from so many on none is regarded

	MaxPush        = 8 << 20 // bytes of the pkt-lines of a list of commands
	MaxCommands    = 20480   // a state of 10,000 refs, 10,000 deletions, and some pull requests
	MaxTips        = 1024    // refs below refs/nostr/ in one push; those beyond are refused each, and the rest of the push goes on
	MaxPushOptions = 64

	MaxRefName = 250 // bytes
	maxAgent   = 128 // bytes that are kept
)

// RequestError says what is wrong with a request, in words for its sender.
type RequestError struct {
	Text  string
	cause error
}

func (e *RequestError) Error() string { return e.Text }

// Unwrap returns the error of package [pktline] that the RequestError comes from, if there is one.
func (e *RequestError) Unwrap() error { return e.cause }

func refuse(format string, args ...any) error {
	return &RequestError{Text: fmt.Sprintf(format, args...)}
}

// quote shows bytes of a stranger, as git quotes.
func quote[T string | []byte](p T) string { return "'" + printable(p) + "'" }

func printable[T string | []byte](p T) string {
	return safetext.Printable(string(p[:min(len(p), safetext.MaxText)]))
}

// unknownRef refuses a ref that is wanted by name. git writes it without quotes, and its tests look.
func unknownRef(name string) error { return refuse("unknown ref %s", printable(name)) }

// lines reads the frames of one request.
type lines struct{ r *pktline.Reader }

func newLines(body io.Reader, most int64) lines { return lines{pktline.NewReader(body, most)} }

// next reads the next frame, a line without its newline. It returns io.EOF itself where the request ends between two frames, a RequestError
// for a fault of the client, and else the error of the connection.
func (l lines) next() (pktline.Kind, []byte, error) {
	kind, payload, err := l.r.Next()
	switch {
	case err == nil:
		return kind, pktline.Line(payload), nil
	case err == io.EOF:
		return 0, nil, io.EOF
	case errors.Is(err, pktline.ErrMalformed), errors.Is(err, pktline.ErrTooMuch):
		return 0, nil, &RequestError{Text: err.Error(), cause: err}
	}
	return 0, nil, fmt.Errorf("read request: %w", err)
}

// until calls take with each line, up to the flush that has to end them.
func (l lines) until(what string, take func(line []byte) error) error {
	for {
		kind, line, err := l.next()
		switch {
		case err == io.EOF:
			return cutShort(what)
		case err != nil:
			return err
		case kind == pktline.Flush:
			return nil
		case kind != pktline.Data:
			return refuse("unexpected %s in %s", kind, what)
		}
		if err := take(line); err != nil {
			return err
		}
	}
}

// cutShort makes the error of a request that ends too early.
func cutShort(what string) error {
	return &RequestError{Text: "the request ends within " + what, cause: io.ErrUnexpectedEOF}
}
