package bip340

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// Signed is what one verification is of.
type Signed struct {
	Key *[32]byte
	Msg []byte
	Sig *[64]byte
}

const (
	fewest   = 4    // signatures for which a batch pays
	mostKeys = 1024 // that are remembered from batch to batch, of 700 bytes each; beyond that all are forgotten
)

// Batch verifies many signatures in less time than each of them takes alone. It keeps its space between batches, and the points
// of the last keys; the zero value is ready. It is for one goroutine.
type Batch struct {
	known map[[32]byte]int32 // where the points of keys are; below 0 where they are no points
	keys  []folded
	count uint64  // of batches
	here  []int32 // the keys of this one
	rs    []affine
	as    []half
	terms terms
	space []byte
}

// folded is a key, and what it is multiplied by in a batch.
type folded struct {
	row    row // of its point
	turned row // lambda times that
	filled bool
	batch  uint64 // the last in which it was
	e      fr.Element
}

// Verify sets each ok to what Verify says of its signature.
//
// As the BIP describes it, the sum of all a (sG - eP - R) with unforeseeable coefficients a of 128 bits, the first of which is 1,
// is infinity when all are genuine, and otherwise with a probability of 2^-128. When it is not, each signature is verified alone.
func (b *Batch) Verify(batch []Signed, ok []bool) {
	if len(batch) < fewest || !b.holds(batch, ok) {
		for i := range batch {
			ok[i] = Verify(batch[i].Key, batch[i].Msg, batch[i].Sig)
		}
	}
}

// holds reports whether all signatures of the batch are genuine that have the form of one, and sets each ok.
func (b *Batch) holds(batch []Signed, ok []bool) bool {
	var c *coefficients
	c, b.space = newCoefficients(batch, b.space)
	if b.known == nil || len(b.known) > mostKeys {
		b.known, b.keys = make(map[[32]byte]int32), b.keys[:0]
	}
	b.count++
	b.here, b.rs, b.as = b.here[:0], b.rs[:0], b.as[:0]
	var g fr.Element // what the generator is multiplied by, negated
	for i := range batch {
		ok[i] = b.fold(&batch[i], &g, c)
	}
	g.Neg(&g)
	return b.terms.vanish(&g, b.keys, b.here, b.rs, b.as)
}

// fold adds a signature to the sums, and reports whether it has the form of one: R and the key are points, s is a scalar.
func (b *Batch) fold(s *Signed, g *fr.Element, c *coefficients) bool {
	rx, es, ok := parse(s.Sig)
	if !ok {
		return false
	}
	k := b.lifted(s.Key)
	var r affine
	if k == nil || !r.lift(&rx) {
		return false
	}
	a := half{bits: [2]uint64{1}}
	if len(b.rs) > 0 {
		a = c.next()
	}
	x, e := wide(a.bits[0], a.bits[1]), challenge(s.Sig[:32], s.Key, s.Msg)
	g.Add(g, es.Mul(&es, &x))
	k.e.Add(&k.e, e.Mul(&e, &x))
	b.rs, b.as = append(b.rs, r), append(b.as, a)
	return true
}

// lifted is the key with that x coordinate, as it is in this batch; nil where there is no such point.
func (b *Batch) lifted(pk *[32]byte) *folded {
	i, known := b.known[*pk]
	if !known {
		var k folded
		i = -1
		if liftX(&k.row[0], pk) {
			i = int32(len(b.keys))
			b.keys = append(b.keys, k)
		}
		b.known[*pk] = i
	}
	if i < 0 {
		return nil
	}
	k := &b.keys[i]
	if k.batch != b.count {
		k.batch, k.e = b.count, fr.Element{}
		b.here = append(b.here, i)
	}
	return k
}
