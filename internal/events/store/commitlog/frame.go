package commitlog

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Frame is what a node that leads sends to one that follows: an entry of the log, or a sign of life.
type Frame struct {
	Term  uint64   // in which the sender leads
	Head  Position // up to where the sender has the log
	Entry *Entry   // nil in a sign of life
}

// frameHeader is how many bytes of a frame come before its entry: the term (8), the head (8), the position of the entry (8), and how many bytes it has
// (4), 0 in a sign of life. Numbers are big endian.
const frameHeader = 8 + 8 + 8 + 4

// mostFrame is how many bytes an entry has at most: a commit that cannot be compressed grows a little.
const mostFrame = MaxSize + 1<<20

// Append appends the frame to dst as a stream has it.
func (f Frame) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, f.Term), uint64(f.Head))
	if f.Entry == nil {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, 0), 0)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.Entry.At))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(Chain{})+len(f.Entry.Body)))
	return f.Entry.Append(dst)
}

// ReadFrame reads the next frame of a stream. It fails with ErrDamaged for what no node sends.
func ReadFrame(r io.Reader) (Frame, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Term: binary.BigEndian.Uint64(head[:]), Head: Position(binary.BigEndian.Uint64(head[8:]))}
	at, n := Position(binary.BigEndian.Uint64(head[16:])), binary.BigEndian.Uint32(head[24:])
	switch {
	case n == 0 && at == 0:
		return f, nil
	case n > mostFrame || at == 0 || at > f.Head:
		return Frame{}, fmt.Errorf("%w: a frame has position %d of %d, and %d bytes", ErrDamaged, at, f.Head, n)
	}
	object := make([]byte, n)
	if _, err := io.ReadFull(r, object); err != nil {
		return Frame{}, err
	}
	x, err := ParseEntry(at, object)
	if err != nil {
		return Frame{}, err
	}
	f.Entry = &x
	return f, nil
}
