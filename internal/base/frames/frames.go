// Package frames counts the frames of a WebSocket (RFC 6455, 5.2) by its bytes. A frame without a payload is two bytes of somebody else's and work
// here, and a library that reads messages tells nobody of frames that bring none. Read Counter.
package frames

import "encoding/binary"

// The kinds of frames that bring a message, or begin one. A continuation is 0.
const opText, opBinary = 1, 2

// Counter counts the frames in what one end of a WebSocket sends, from the first byte after the handshake on. The zero Counter has seen nothing.
// It checks no rule of the protocol: the reader of the messages does.
type Counter struct {
	header  [10]byte // of the frame that has begun: the first two bytes and the length
	have    int      // bytes of header
	payload uint64   // bytes of payload, and of the mask before it, that are still to come
}

// Seen says what some bytes held.
type Seen struct {
	Messages int // frames that begin a message
	Others   int // all other frames: continuations, pings, pongs, closes, and those of no known kind
	Payload  int // bytes of messages, with their masks
}

// See counts the frames whose header ends in b.
func (c *Counter) See(b []byte) (seen Seen) {
	for len(b) > 0 {
		if c.payload > 0 {
			n := int(min(c.payload, uint64(len(b))))
			c.payload -= uint64(n)
			if c.header[0]&0xf <= opBinary {
				seen.Payload += n
			}
			b = b[n:]
			continue
		}
		c.header[c.have] = b[0]
		c.have++
		b = b[1:]
		if c.have < 2 || c.have < headerLen(c.header[1]) {
			continue
		}
		switch c.header[0] & 0xf {
		case opText, opBinary:
			seen.Messages++
		default:
			seen.Others++
		}
		c.payload, c.have = c.size(), 0
	}
	return seen
}

// headerLen returns how many bytes a header has up to the mask, by its second byte.
func headerLen(second byte) int {
	switch second & 0x7f {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

// size returns how many bytes follow the header.
func (c *Counter) size() (n uint64) {
	switch n = uint64(c.header[1] & 0x7f); n {
	case 126:
		n = uint64(binary.BigEndian.Uint16(c.header[2:]))
	case 127:
		n = min(binary.BigEndian.Uint64(c.header[2:]), 1<<63) // more would wrap around with the mask
	}
	if c.header[1]&0x80 != 0 {
		n += 4
	}
	return n
}
