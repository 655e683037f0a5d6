package bip340

import "encoding/binary"

// MostKeys is the number of keys that a Batch remembers after a batch with more.
const MostKeys = mostKeys

// Holds reports whether a batch is proved by its sum, and sets ok to which of its signatures have the form of one.
func (b *Batch) Holds(batch []Signed, ok []bool) bool { return b.holds(batch, ok) }

// Keys is how many keys a Batch remembers.
func (b *Batch) Keys() int { return max(len(b.known), len(b.keys)) }

// Flood verifies a batch of made-up signatures, each by another key.
func (b *Batch) Flood(n int) {
	batch, sig := make([]Signed, n), new([64]byte)
	for i := range batch {
		key := new([32]byte)
		binary.BigEndian.PutUint64(key[:], b.count)
		binary.BigEndian.PutUint64(key[8:], uint64(i))
		batch[i] = Signed{Key: key, Sig: sig}
	}
	b.holds(batch, make([]bool, n))
}
