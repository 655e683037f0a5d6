package pktline

import (
	"errors"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Reader takes frames from a stream. It reads each frame to its last byte and no further. So whatever follows the frames, such as the pack
// after a list of commands, is still in the stream. It makes small reads: put a bufio.Reader over a connection.
type Reader struct {
	stream  io.Reader
	most    int64 // bytes of frames that may come in all
	taken   int64 // bytes of frames that came
	digits  [header]byte
	payload []byte
	err     error // the first error, for ever
}

// NewReader makes a Reader that takes frames of at most most bytes in all, their lengths included.
func NewReader(stream io.Reader, most int64) *Reader {
	return &Reader{stream: stream, most: most}
}

// Taken returns how many bytes of the stream belong to the frames that Next gave.
func (r *Reader) Taken() int64 { return r.taken }

// Next reads a frame. The payload of a Data frame is valid until the next call; other frames have none. Where the stream ends between
// frames, the error is io.EOF itself; where it ends within a frame, the error wraps io.ErrUnexpectedEOF. Other errors wrap
// [ErrMalformed], [ErrTooMuch] or an error of the stream. After an error Next only returns that error.
func (r *Reader) Next() (Kind, []byte, error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	kind, payload, err := r.frame()
	if err != nil {
		r.err = err
		return 0, nil, err
	}
	r.taken += int64(header + len(payload))
	return kind, payload, nil
}

func (r *Reader) frame() (Kind, []byte, error) {
	if r.most-r.taken < header {
		return 0, nil, r.beyond()
	}
	if _, err := io.ReadFull(r.stream, r.digits[:]); err != nil {
		return 0, nil, broken(err)
	}
	length, err := parseLength(r.digits[:])
	if err != nil {
		return 0, nil, err
	}
	if length < header {
		return Kind(length + 1), nil, nil
	}
	if r.most-r.taken < int64(length) {
		return 0, nil, r.beyond()
	}
	if size := length - header; size > cap(r.payload) {
		r.payload = make([]byte, roomFor(size))
	}
	r.payload = r.payload[:length-header]
	if _, err := io.ReadFull(r.stream, r.payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, broken(err)
	}
	return Data, r.payload, nil
}

// beyond returns the error for a frame beyond the bound. Next checks the bound before it reads, so it takes a stream that ends exactly at
// the bound for one that goes on.
func (r *Reader) beyond() error {
	return fmt.Errorf("%w: %d are taken", ErrTooMuch, r.most)
}

// broken wraps an error of the stream, but leaves io.EOF, the end between two frames, as it is.
func broken(err error) error {
	if err == io.EOF {
		return io.EOF
	}
	return fmt.Errorf("read pkt-line: %w", err)
}

// roomFor returns the size of a buffer for a payload of size bytes. Most frames of a conversation are short; packs come in the longest.
func roomFor(size int) int {
	const brief, short = 1 << 7, 1 << 10
	switch {
	case size <= brief:
		return brief
	case size <= short:
		return short
	}
	return MaxPayload
}

// parseLength reads the four digits, which git takes in either case. 3 and numbers above MaxFrame are no lengths.
func parseLength(digits []byte) (int, error) {
	n := 0
	for _, c := range digits {
		d, ok := hexDigit(c)
		if !ok {
			return 0, fmt.Errorf("%w: bad line length characters '%s'", ErrMalformed, safetext.Escape(string(digits)))
		}
		n = n<<4 | d
	}
	if n == 3 || n > MaxFrame {
		return 0, fmt.Errorf("%w: bad line length %d", ErrMalformed, n)
	}
	return n, nil
}

func hexDigit(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

// Line returns the payload without the newline that may end it, as git reads lines.
func Line(payload []byte) []byte {
	if n := len(payload); n > 0 && payload[n-1] == '\n' {
		return payload[:n-1]
	}
	return payload
}
