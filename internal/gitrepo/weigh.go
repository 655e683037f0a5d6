package gitrepo

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// A pack is heavy by the objects that git has to make of it, not by the bytes that were sent: a few kB of deltas can be gigabytes.
const (
	heavyBytes = 16 << 20
	eachObject = 4 << 10 // as much work as so many bytes
)

// heavy reports whether a pack is much work, from what it says of its objects. It reads no further than it has to, and in a broken pack
// no further than git would.
func heavy(pack io.Reader) bool {
	s := &scale{in: bufio.NewReader(pack), left: heavyBytes}
	err := s.weigh()
	return errors.Is(err, errHeavy)
}

// objectType is the type of an object as it stands in a pack (gitformat-pack(5)).
type objectType uint8

// The deltas. What is made of another object by its id, and what by its place in the pack.
const (
	ofsDelta objectType = 6
	refDelta objectType = 7
)

var (
	errHeavy = errors.New("the pack is heavy")
	errPack  = errors.New("that is no pack")
)

// scale adds up the work that a pack makes.
type scale struct {
	in   *bufio.Reader
	z    io.ReadCloser
	left uint64 // before it is heavy
}

func (s *scale) add(work uint64) error {
	if work > s.left {
		return errHeavy
	}
	s.left -= work
	return nil
}

func (s *scale) weigh() error {
	var head [packHead]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return err
	}
	if string(head[:4]) != "PACK" {
		return errPack
	}
	n := binary.BigEndian.Uint32(head[8:])
	if err := s.add(uint64(n) * eachObject); err != nil {
		return err
	}
	for range n {
		if err := s.object(); err != nil {
			return err
		}
	}
	return nil
}

// object weighs the next object: its bytes, and for a delta also the bytes of the object that it makes.
func (s *scale) object() error {
	kind, size, err := s.header()
	if err != nil {
		return err
	}
	if err := s.add(size); err != nil {
		return err
	}
	if err := s.inflate(); err != nil {
		return err
	}
	if kind == ofsDelta || kind == refDelta {
		var begin [10]byte // two sizes
		m, _ := io.ReadFull(s.z, begin[:min(size, uint64(len(begin)))])
		_, rest, ok := deltaSize(begin[:m])
		made, _, ok2 := deltaSize(rest)
		if !ok || !ok2 {
			return errPack
		}
		if err := s.add(made); err != nil {
			return err
		}
		size -= uint64(m)
	}
	if _, err := io.CopyN(io.Discard, s.z, int64(size)); err != nil { // it was counted, so it is little
		return errPack
	}
	if _, err := s.z.Read(make([]byte, 1)); err != io.EOF { // what follows is its sum
		return errPack
	}
	return nil
}

// header reads what stands before an object.
func (s *scale) header() (kind objectType, size uint64, err error) {
	b, err := s.in.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size = objectType(b>>4&7), uint64(b&15)
	for shift := 4; b&128 != 0; shift += 7 {
		if b, err = s.in.ReadByte(); err != nil || shift > 57 {
			return 0, 0, errPack
		}
		size |= uint64(b&127) << shift
	}
	switch kind {
	case ofsDelta:
		for b = 128; b&128 != 0; {
			if b, err = s.in.ReadByte(); err != nil {
				return 0, 0, err
			}
		}
	case refDelta:
		_, err = s.in.Discard(20)
	}
	return kind, size, err
}

// inflate begins to read compressed bytes.
func (s *scale) inflate() (err error) {
	if s.z == nil {
		s.z, err = zlib.NewReader(s.in)
		return err
	}
	return s.z.(zlib.Resetter).Reset(s.in, nil)
}

// deltaSize reads a size at the beginning of a delta.
func deltaSize(b []byte) (n uint64, rest []byte, ok bool) {
	for i := range min(len(b), 5) {
		n |= uint64(b[i]&127) << (7 * i)
		if b[i]&128 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
