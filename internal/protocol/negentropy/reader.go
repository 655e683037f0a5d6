package negentropy

import (
	"fmt"
	"math"
)

const (
	versionV1  = 0x61
	versionMin = 0x60 // of any protocol version
	versionMax = 0x6f
)

// The modes of a range.
const (
	modeSkip        = 0
	modeFingerprint = 1
	modeIDs         = 2
)

// readVersion splits the version byte off a message, and reports whether it is
// our version.
func readVersion(msg []byte) (ranges []byte, ours bool, err error) {
	if len(msg) == 0 {
		return nil, false, malformed("no version byte")
	}
	if msg[0] < versionMin || msg[0] > versionMax {
		return nil, false, malformed("version byte %#02x", msg[0])
	}
	return msg[1:], msg[0] == versionV1, nil
}

// section is one range of a message. It starts where the one before it ends.
type section struct {
	upper   bound
	mode    uint64
	payload []byte // part of the message: a fingerprint, or ids of 32 bytes each
}

// reader takes a message apart, range by range, without allocating.
type reader struct {
	rest []byte
	last bound // the upper bound of the range before
}

// next reads one range. Ranges without extent are legal, also at infinity: the
// reference implementation closes a full message with one.
func (r *reader) next() (section, error) {
	upper, err := r.bound()
	if err != nil {
		return section{}, err
	}
	if upper.compare(&r.last.Item) < 0 {
		return section{}, malformed("bound below the one before")
	}
	r.last = upper
	g := section{upper: upper}
	if g.mode, err = r.varint(); err != nil {
		return section{}, err
	}
	switch g.mode {
	case modeSkip:
	case modeFingerprint:
		g.payload, err = r.take(1, fingerprintSize)
	case modeIDs:
		var count uint64
		if count, err = r.varint(); err == nil {
			g.payload, err = r.take(count, 32)
		}
	default:
		err = malformed("range mode %d", g.mode)
	}
	return g, err
}

// bound reads the upper bound of a range.
func (r *reader) bound() (bound, error) {
	delta, err := r.varint()
	if err != nil {
		return bound{}, err
	}
	size, err := r.varint()
	if err != nil {
		return bound{}, err
	}
	if size > 32 {
		return bound{}, malformed("id prefix of %d bytes", size)
	}
	prefix, err := r.take(size, 1)
	if err != nil {
		return bound{}, err
	}
	if delta == 0 || delta-1 >= math.MaxUint64-r.last.Time {
		return infinity(), nil
	}
	b := bound{size: int(size)}
	b.Time = r.last.Time + delta - 1
	copy(b.ID[:], prefix)
	return b, nil
}

// take splits count parts of size bytes off the message.
func (r *reader) take(count uint64, size int) ([]byte, error) {
	if count > uint64(len(r.rest)/size) {
		return nil, malformed("%d bytes left for %d×%d", len(r.rest), count, size)
	}
	n := int(count) * size
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part, nil
}

// varint reads a number: base 128, most significant digit first, the high bit
// set in all bytes but the last, no leading zeros.
func (r *reader) varint() (uint64, error) {
	var v uint64
	for i, c := range r.rest {
		if v > math.MaxUint64>>7 {
			return 0, malformed("varint above 64 bits")
		}
		if i == 0 && c == 0x80 {
			return 0, malformed("varint with a leading zero")
		}
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			r.rest = r.rest[i+1:]
			return v, nil
		}
	}
	return 0, malformed("varint cut short")
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
