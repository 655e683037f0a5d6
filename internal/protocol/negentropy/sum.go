package negentropy

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// fingerprintSize is the length of a fingerprint in bytes.
const fingerprintSize = 16

// sum is a sum of ids as little-endian integers modulo 2^256, least
// significant word first.
type sum [4]uint64

// add adds an id.
func (s *sum) add(id *[32]byte) {
	var carry uint64
	s[0], carry = bits.Add64(s[0], binary.LittleEndian.Uint64(id[0:]), 0)
	s[1], carry = bits.Add64(s[1], binary.LittleEndian.Uint64(id[8:]), carry)
	s[2], carry = bits.Add64(s[2], binary.LittleEndian.Uint64(id[16:]), carry)
	s[3], _ = bits.Add64(s[3], binary.LittleEndian.Uint64(id[24:]), carry)
}

// subtract takes another sum away.
func (s *sum) subtract(o *sum) {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], o[i], borrow)
	}
}

// fingerprint returns the fingerprint of the count ids that were added up.
func (s *sum) fingerprint(count int) [fingerprintSize]byte {
	buf := make([]byte, 0, 32+maxVarint)
	for _, word := range s {
		buf = binary.LittleEndian.AppendUint64(buf, word)
	}
	hash := sha256.Sum256(appendVarint(buf, uint64(count)))
	return [fingerprintSize]byte(hash[:fingerprintSize])
}
