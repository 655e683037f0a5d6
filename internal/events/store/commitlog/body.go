package commitlog

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Body is what the body of an entry says: a header, and behind it, compressed, what the commit changes.
type Body struct {
	Term    uint64 // of whoever wrote it
	Head    uint64 // the number of the last entry of the feed, at the end of the commit
	Began   uint64 // the position at which the term of the entry before began; 0 where none was before
	Changes Changes
}

// Format is the version of a body that this package writes, the only one that it reads.
const Format = 1

// MaxSize is how many bytes the changes of a commit have at most, before they are compressed, and MaxKeys how many keys.
const (
	MaxSize = 64 << 20
	MaxKeys = 2 << 20
)

// Header is how many bytes of a body come before its changes: the format (4), the term (8), the head (8) and where the term before began (8).
// Numbers are big endian.
const Header = 4 + 8 + 8 + 8

// Encode returns the body as an entry has it. It fails with ErrTooLarge.
func (b Body) Encode() ([]byte, error) {
	list := b.Changes.append(nil)
	if len(list) > MaxSize || len(b.Changes.Keys) > MaxKeys {
		return nil, ErrTooLarge
	}
	// Each call makes an encoder: one that is kept has channels, by which it would belong to the first bubble (testing/synctest) that uses it.
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("compress a commit: %w", err)
	}
	dst := binary.BigEndian.AppendUint32(make([]byte, 0, Header+len(list)/2), Format)
	dst = binary.BigEndian.AppendUint64(dst, b.Term)
	dst = binary.BigEndian.AppendUint64(dst, b.Head)
	dst = binary.BigEndian.AppendUint64(dst, b.Began)
	return w.EncodeAll(list, dst), nil
}

// ParseBody reads a body. It fails with ErrFormat for another version's, and with ErrDamaged for what no version writes.
func ParseBody(body []byte) (b Body, err error) {
	if b, err = ParseHeader(body); err != nil {
		return b, err
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxSize))
	if err != nil {
		return b, fmt.Errorf("read a commit: %w", err)
	}
	defer r.Close()
	list, err := r.DecodeAll(body[Header:], nil)
	if err != nil {
		return b, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	b.Changes, err = parseChanges(list)
	return b, err
}

// ParseHeader reads what comes before the changes, from a body or its beginning. It fails as ParseBody does.
func ParseHeader(body []byte) (b Body, err error) {
	if len(body) < 4 {
		return b, fmt.Errorf("%w: a body of %d bytes", ErrDamaged, len(body))
	}
	if f := binary.BigEndian.Uint32(body); f != Format {
		return b, fmt.Errorf("%w (format %d, this one knows %d)", ErrFormat, f, Format)
	}
	if len(body) < Header {
		return b, fmt.Errorf("%w: a body of %d bytes", ErrDamaged, len(body))
	}
	return Body{Term: binary.BigEndian.Uint64(body[4:]), Head: binary.BigEndian.Uint64(body[12:]), Began: binary.BigEndian.Uint64(body[20:])}, nil
}
