// Package pktline reads and writes pkt-lines, the frames of git's protocols (gitprotocol-common(5)): four hex digits of length,
// then the payload; and three special frames that end a message, a section or an answer. Pktline knows no commands: others know what
// payloads mean. [Reader] takes frames from a stream and nothing beyond them; the Append functions and [Sideband] write frames.
package pktline

import "errors"

// Lengths in bytes. git takes no frame longer than MaxFrame, the four digits included.
const (
	MaxFrame   = 65520
	MaxPayload = MaxFrame - header

	header = 4
)

// Kind tells what a frame is.
type Kind uint8

const (
	Data        Kind = iota // a payload, perhaps an empty one
	Flush                   // 0000: the end of a message
	Delim                   // 0001: the end of a section of a message
	ResponseEnd             // 0002: the end of a stateless answer
)

func (k Kind) String() string {
	switch k {
	case Data:
		return "data"
	case Flush:
		return "flush"
	case Delim:
		return "delim"
	case ResponseEnd:
		return "response-end"
	}
	return "unknown"
}

var (
	// ErrMalformed says that a stream holds no pkt-line where one should begin. It comes wrapped with what stands there.
	ErrMalformed = errors.New("malformed pkt-line")
	// ErrTooMuch says that a stream holds more than its Reader may take. It comes wrapped with the bound.
	ErrTooMuch = errors.New("too many bytes in pkt-lines")
)
