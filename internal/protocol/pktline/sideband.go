package pktline

import (
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Frame lengths in bytes of the two forms of side-band, the four digits and the band included.
const (
	SidebandFrame    = 1000     // side-band
	Sideband64kFrame = MaxFrame // side-band-64k
)

// Band is the first byte of the payload where several streams share one. It tells to which stream the frame belongs.
type Band byte

const (
	BandData     Band = 1 // the pack, or the report of a push
	BandProgress Band = 2 // text that git prints to stderr, with "remote: " before each line
	BandError    Band = 3 // text of the error that ends the conversation
)

// Sideband writes several streams into one, in the order of the calls. One goroutine uses a Sideband at a time.
type Sideband struct {
	out  io.Writer
	most int // bytes of payload in a frame
	head [header + 1]byte
}

// NewSideband makes a Sideband that writes frames of at most frame bytes, [SidebandFrame] or [Sideband64kFrame], to out. A Sideband copies
// no payload: it writes a frame in two pieces. So out should have a buffer for small pieces, as an http.ResponseWriter has.
func NewSideband(out io.Writer, frame int) *Sideband {
	return &Sideband{out: out, most: roomIn(frame)}
}

// roomIn returns how many bytes of a stream fit into a side-band frame.
func roomIn(frame int) int {
	if frame <= header+1 || frame > MaxFrame {
		panic(fmt.Sprintf("pktline: side-band frames of %d bytes", frame))
	}
	return frame - header - 1
}

// Write writes p to the data band, in as many frames as p needs; for an empty p it writes nothing.
func (s *Sideband) Write(p []byte) (int, error) { return s.writeBand(BandData, p) }

// Progress writes text to the progress band. git prints each line; a line ends with \n, or with \r where the next line is to replace it.
func (s *Sideband) Progress(text []byte) error {
	_, err := s.writeBand(BandProgress, text)
	return err
}

// KeepAlive writes an empty frame to the data band, as git does, to tell the client that the server still works.
func (s *Sideband) KeepAlive() error { return s.frame(BandData, nil) }

// Fail writes the text to the error band: git prints the text and ends. Fail cuts a text that is too long for a frame between two
// characters.
func (s *Sideband) Fail(text string) error {
	text, _ = safetext.Cut(text, s.most)
	return s.frame(BandError, []byte(text))
}

// Flush writes the frame that ends the streams.
func (s *Sideband) Flush() error {
	copy(s.head[:], "0000")
	return s.all(s.head[:header])
}

// writeBand writes p in frames of one band. It returns how many bytes of p stand in frames that it wrote whole.
func (s *Sideband) writeBand(band Band, p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n := min(s.most, len(p)-done)
		if err := s.frame(band, p[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (s *Sideband) frame(band Band, payload []byte) error {
	putLength(s.head[:], len(s.head)+len(payload))
	s.head[header] = byte(band)
	if err := s.all(s.head[:]); err != nil || len(payload) == 0 {
		return err
	}
	return s.all(payload)
}

// all writes p. A writer that takes fewer bytes without an error breaks its contract; all then fails with io.ErrShortWrite.
func (s *Sideband) all(p []byte) error {
	n, err := s.out.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write side-band: %w", err)
	}
	return nil
}

// AppendBand appends payload in frames of one band, of at most frame bytes each; for an empty payload it appends nothing.
func AppendBand(dst []byte, frame int, band Band, payload []byte) []byte {
	for most := roomIn(frame); len(payload) > 0; {
		n := min(most, len(payload))
		start := len(dst)
		dst = append(append(Begin(dst), byte(band)), payload[:n]...)
		dst = End(dst, start)
		payload = payload[n:]
	}
	return dst
}
