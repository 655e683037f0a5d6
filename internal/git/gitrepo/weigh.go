package gitrepo

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A pack is heavy by the objects that git has to make of it, not by the bytes that were sent: a few kB of deltas can be gigabytes.
const (
	heavyBytes = 16 << 20
	eachObject = 4 << 10 // as much work as so many bytes
	shortBytes = 1 << 20 // of what is no longer than that, git makes the objects within some milliseconds
)

// Bounds of objects but files. git holds each of them in memory as a whole, in every process that walks through a history. A directory of 32 MiB
// has some 700,000 files; the largest of known projects have 100,000.
const (
	maxCommit = 1 << 20 // bytes of a commit or a tag
	maxTree   = 32 << 20
)

// weight is what a pack says of its objects.
type weight struct {
	heavy   bool // it is much work, or nobody can tell how much
	long    bool // it is more than some milliseconds of work
	unknown bool // there may be a commit, a tag or a tree that is larger than it may be
}

// weigh reads no more than heavyBytes of a pack, and makes no more than that of it: what is left then is heavy, and so is what cannot be read.
// It fails with a [*PackError] at an object that is too large, and when ctx ends.
func weigh(ctx context.Context, pack io.Reader) (weight, error) {
	s := &scale{in: bufio.NewReader(io.LimitReader(&until{func() error { return context.Cause(ctx) }, pack}, heavyBytes)), left: heavyBytes}
	err := s.weigh()
	var refused *PackError
	if errors.As(err, &refused) {
		return weight{}, err
	}
	if ctx.Err() != nil {
		return weight{}, context.Cause(ctx)
	}
	return weight{heavy: err != nil, long: err != nil || heavyBytes-s.left > shortBytes, unknown: err != nil || s.large}, nil
}

// until reads until ended fails.
type until struct {
	ended func() error
	in    io.Reader
}

func (u *until) Read(b []byte) (int, error) {
	if err := u.ended(); err != nil {
		return 0, err
	}
	return u.in.Read(b)
}

// objectType is the type of an object as it stands in a pack (gitformat-pack(5)).
type objectType uint8

const (
	commitObject objectType = 1
	treeObject   objectType = 2
	tagObject    objectType = 4
	ofsDelta     objectType = 6 // made of another object, which stands so far before it
	refDelta     objectType = 7 // made of another object, which has that id
)

var (
	errHeavy = errors.New("the pack is heavy")
	errPack  = errors.New("that is no pack")
)

// scale adds up the work that a pack makes.
type scale struct {
	in    *bufio.Reader
	z     io.ReadCloser
	left  uint64 // before it is heavy
	large bool   // an object that is made of another one may be too large for a commit
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
	if err == nil {
		err = bounded(kind, size)
	}
	if err == nil {
		err = s.add(size)
	}
	if err == nil {
		err = s.inflate()
	}
	if err != nil {
		return err
	}
	body := io.LimitedReader{R: s.z, N: int64(size)} // it was counted, so it is little
	if kind == ofsDelta || kind == refDelta {
		in := bufio.NewReaderSize(&body, 16)
		_, err := binary.ReadUvarint(in)
		if err != nil {
			return errPack
		}
		made, err := binary.ReadUvarint(in)
		if err != nil {
			return errPack
		}
		if err := s.add(made); err != nil {
			return err
		}
		s.large = s.large || made > maxCommit
	}
	if _, err := io.Copy(io.Discard, &body); err != nil || body.N > 0 {
		return errPack
	}
	if _, err := s.z.Read(make([]byte, 1)); err != io.EOF { // what follows is its sum
		return errPack
	}
	return nil
}

// bounded fails where an object is larger than one of its kind may be.
func bounded(kind objectType, size uint64) error {
	switch {
	case (kind == commitObject || kind == tagObject) && size > maxCommit:
		return tooLarge("a commit or a tag", size, maxCommit)
	case kind == treeObject && size > maxTree:
		return tooLarge("a directory", size, maxTree)
	}
	return nil
}

func tooLarge(what string, size, most uint64) error {
	return &PackError{Text: fmt.Sprintf("%s has %d MiB in the pack, and may have %d MiB here: take it out of the history and push again", what, size>>20, most>>20), ByLimit: true}
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
		_, err = s.in.Discard(len(sum{}))
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
