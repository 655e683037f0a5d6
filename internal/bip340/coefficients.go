package bip340

import (
	"crypto/sha256"
	"encoding/binary"
)

// coefficients are numbers of 128 bits that nobody could foresee who chose the signatures: SHA-256 of a seed and a count, where
// the seed is SHA-256 of the whole batch.
type coefficients struct {
	block [sha256.Size + 8]byte // the seed and the count
	out   [sha256.Size]byte
	used  int
}

// coefficientTag begins what is hashed to the seed, so that no other hash is the same.
var coefficientTag = sha256.Sum256([]byte("graspd/batch of BIP-340 signatures"))

// newCoefficients makes those of a batch; space is overwritten and returned.
func newCoefficients(batch []Signed, space []byte) (*coefficients, []byte) {
	space = append(space[:0], coefficientTag[:]...)
	space = binary.BigEndian.AppendUint64(space, uint64(len(batch)))
	for i := range batch {
		s := &batch[i]
		space = append(append(space, s.Key[:]...), s.Sig[:]...)
		space = binary.BigEndian.AppendUint64(space, uint64(len(s.Msg)))
		space = append(space, s.Msg...)
	}
	c := &coefficients{used: sha256.Size}
	seed := sha256.Sum256(space)
	copy(c.block[:], seed[:])
	return c, space
}

// next is a coefficient.
func (c *coefficients) next() half {
	if c.used == sha256.Size {
		c.out = sha256.Sum256(c.block[:])
		count := c.block[sha256.Size:]
		binary.BigEndian.PutUint64(count, binary.BigEndian.Uint64(count)+1)
		c.used = 0
	}
	h := half{bits: [2]uint64{binary.BigEndian.Uint64(c.out[c.used+8:]), binary.BigEndian.Uint64(c.out[c.used:])}}
	c.used += 16
	return h
}
