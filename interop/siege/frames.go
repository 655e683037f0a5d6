package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// What a frame is (RFC 6455).
const (
	opText  = 1
	opClose = 8
	opPing  = 9
)

// head begins a frame of a client whose mask is zero, so that what follows is as it is.
func head(op byte, length int) []byte {
	b := []byte{0x80 | op}
	switch {
	case length < 126:
		b = append(b, 0x80|byte(length))
	case length < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(length))
	}
	return append(b, 0, 0, 0, 0)
}

// text is a whole message.
func text(message []byte) []byte { return append(head(opText, len(message)), message...) }

var errLong = errors.New("a frame of more than 2 GiB")

// nextFrame reads a frame of a relay, and keeps the beginning of what it holds, at most len(beginning) bytes.
func nextFrame(r *bufio.Reader, beginning []byte) (op byte, begun []byte, length int, err error) {
	var h [10]byte
	if _, err := io.ReadFull(r, h[:2]); err != nil {
		return 0, nil, 0, err
	}
	n := uint64(h[1] & 0x7f)
	more := map[uint64]int{126: 2, 127: 8}[n]
	if _, err := io.ReadFull(r, h[2:2+more]); err != nil {
		return 0, nil, 0, err
	}
	switch more {
	case 2:
		n = uint64(binary.BigEndian.Uint16(h[2:]))
	case 8:
		n = binary.BigEndian.Uint64(h[2:])
	}
	if n > 1<<31 {
		return 0, nil, 0, errLong
	}
	begun = beginning[:min(len(beginning), int(n))]
	if _, err := io.ReadFull(r, begun); err != nil {
		return 0, nil, 0, err
	}
	_, err = r.Discard(int(n) - len(begun))
	return h[0] & 0xf, begun, int(n), err
}
