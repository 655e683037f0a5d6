package gitrepo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// sum is the bytes of an object id.
type sum [20]byte

func (s sum) compare(other sum) int { return bytes.Compare(s[:], other[:]) }

func (s sum) id() gitwire.ObjectID { return gitwire.ObjectIDOf(s) }

// The layout of an index of version 2 (gitformat-pack(5)): a head, how many ids begin with each byte or a smaller one, and the
// ids in order; checksums and places follow.
const (
	indexMagic = "\xfftOc\x00\x00\x00\x02"
	fanoutAt   = int64(len(indexMagic))
	sumsAt     = fanoutAt + 256*4
	sumLen     = int64(len(sum{}))
	indexEntry = sumLen + 4 + 4 // at least
	indexTail  = 2 * sumLen     // two checksums
	block      = uint32(256)    // ids that are read at once
)

// index is the index of a pack. Only the fan-out is in memory.
type index struct {
	file interface {
		io.ReaderAt
		io.Closer
	}
	fanout [256]uint32
	name   string // of the pack
}

// openIndex reads the beginning of an index.
func openIndex(file interface {
	io.ReaderAt
	io.Closer
}, size int64) (*index, error) {
	head := make([]byte, sumsAt)
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("an index of a pack: %w", err)
	}
	x := &index{file: file}
	var last uint32
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(head[fanoutAt+4*int64(i):])
		if x.fanout[i] < last {
			return nil, fmt.Errorf("an index of a pack is damaged: its fan-out decreases")
		}
		last = x.fanout[i]
	}
	if string(head[:fanoutAt]) != indexMagic || size < sumsAt+int64(last)*indexEntry+indexTail {
		return nil, fmt.Errorf("an index of a pack is damaged, or of another version than 2")
	}
	return x, nil
}

// len is how many objects the pack has.
func (x *index) len() int { return int(x.fanout[255]) }

// all returns the ids of all objects, in order.
func (x *index) all() ([]sum, error) {
	raw := make([]byte, int64(x.len())*sumLen)
	if _, err := x.file.ReadAt(raw, sumsAt); err != nil {
		return nil, fmt.Errorf("an index of a pack: %w", err)
	}
	sums := make([]sum, x.len())
	for i := range sums {
		copy(sums[i][:], raw[int64(i)*sumLen:])
	}
	return sums, nil
}

// rest returns those of sums that the pack does not have. sums are sorted.
func (x *index) rest(sums []sum) (missing []sum, err error) {
	s := searcher{x: x}
	defer func() { err = errors.Join(err, s.close()) }()
	for len(sums) > 0 {
		first := sums[0][0]
		n := 1
		for n < len(sums) && sums[n][0] == first {
			n++
		}
		var from uint32
		if first > 0 {
			from = x.fanout[first-1]
		}
		if err := s.search(sums[:n], from, x.fanout[first]); err != nil {
			return nil, fmt.Errorf("an index of a pack: %w", err)
		}
		sums = sums[n:]
	}
	return s.missing, nil
}

// searcher looks many ids up, and reads as little as that takes. It opens the file once, where that is to be opened again.
type searcher struct {
	x       *index
	file    io.ReaderAt // nil before the first read
	again   io.Closer   // nil for a file that stays open
	buf     []byte
	missing []sum
}

func (s *searcher) open() error {
	s.file = s.x.file
	r, again := s.x.file.(reopened)
	if !again {
		return nil
	}
	f, err := r.open()
	if err == nil {
		s.file, s.again = f, f
	}
	return err
}

func (s *searcher) close() error {
	if s.again == nil {
		return nil
	}
	return s.again.Close()
}

// read returns the ids from up to below to, as bytes.
func (s *searcher) read(from, to uint32) ([]byte, error) {
	n := int64(to-from) * sumLen
	if s.buf == nil {
		s.buf = make([]byte, int64(block)*sumLen)
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	_, err := s.file.ReadAt(s.buf[:n], sumsAt+int64(from)*sumLen)
	return s.buf[:n], err
}

// search looks for sums among the ids from up to below to.
func (s *searcher) search(sums []sum, from, to uint32) error {
	switch {
	case len(sums) == 0:
		return nil
	case from == to:
		s.missing = append(s.missing, sums...)
		return nil
	case to-from <= block:
		ids, err := s.read(from, to)
		if err != nil {
			return err
		}
		for _, sum := range sums {
			if !contains(ids, sum) {
				s.missing = append(s.missing, sum)
			}
		}
		return nil
	}
	middle := from + (to-from)/2
	raw, err := s.read(middle, middle+1)
	if err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(sums, sum(raw), sum.compare)
	if err := s.search(sums[:at], from, middle); err != nil {
		return err
	}
	return s.search(sums[at:], middle, to)
}

// contains reports whether an id is among sorted ones.
func contains(ids []byte, s sum) bool {
	for len(ids) > 0 {
		middle := len(ids) / int(sumLen) / 2 * int(sumLen)
		switch c := bytes.Compare(s[:], ids[middle:middle+int(sumLen)]); {
		case c == 0:
			return true
		case c < 0:
			ids = ids[:middle]
		default:
			ids = ids[middle+int(sumLen):]
		}
	}
	return false
}
