package bip340

import (
	"encoding/binary"
	"math/bits"
)

// element stands for its value modulo p = 2^256 - excess, the size of the field. It is any number below 2^256, the lowest
// word first, so some residues have two forms; canonical gives the one below p.
//
// As 2^256 is excess modulo p, what overflows is multiplied by excess and added. That needs half the multiplications of
// Montgomery's form.
type element [4]uint64

const (
	excess = 1<<32 + 977
	lowest = 1<<64 - excess // the lowest word of p; all others are ones
	ones   = 1<<64 - 1
)

// mul sets z to x y.
func (z *element) mul(x, y *element) {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	var k uint64
	h0, t0 := bits.Mul64(x0, y[0])
	h1, l1 := bits.Mul64(x1, y[0])
	h2, l2 := bits.Mul64(x2, y[0])
	h3, l3 := bits.Mul64(x3, y[0])
	t1, k := bits.Add64(h0, l1, 0)
	t2, k := bits.Add64(h1, l2, k)
	t3, k := bits.Add64(h2, l3, k)
	t4 := h3 + k

	h0, l0 := bits.Mul64(x0, y[1])
	h1, l1 = bits.Mul64(x1, y[1])
	h2, l2 = bits.Mul64(x2, y[1])
	h3, l3 = bits.Mul64(x3, y[1])
	l1, k = bits.Add64(h0, l1, 0)
	l2, k = bits.Add64(h1, l2, k)
	l3, k = bits.Add64(h2, l3, k)
	h3 += k
	t1, k = bits.Add64(t1, l0, 0)
	t2, k = bits.Add64(t2, l1, k)
	t3, k = bits.Add64(t3, l2, k)
	t4, k = bits.Add64(t4, l3, k)
	t5 := h3 + k

	h0, l0 = bits.Mul64(x0, y[2])
	h1, l1 = bits.Mul64(x1, y[2])
	h2, l2 = bits.Mul64(x2, y[2])
	h3, l3 = bits.Mul64(x3, y[2])
	l1, k = bits.Add64(h0, l1, 0)
	l2, k = bits.Add64(h1, l2, k)
	l3, k = bits.Add64(h2, l3, k)
	h3 += k
	t2, k = bits.Add64(t2, l0, 0)
	t3, k = bits.Add64(t3, l1, k)
	t4, k = bits.Add64(t4, l2, k)
	t5, k = bits.Add64(t5, l3, k)
	t6 := h3 + k

	h0, l0 = bits.Mul64(x0, y[3])
	h1, l1 = bits.Mul64(x1, y[3])
	h2, l2 = bits.Mul64(x2, y[3])
	h3, l3 = bits.Mul64(x3, y[3])
	l1, k = bits.Add64(h0, l1, 0)
	l2, k = bits.Add64(h1, l2, k)
	l3, k = bits.Add64(h2, l3, k)
	h3 += k
	t3, k = bits.Add64(t3, l0, 0)
	t4, k = bits.Add64(t4, l1, k)
	t5, k = bits.Add64(t5, l2, k)
	t6, k = bits.Add64(t6, l3, k)
	z.reduce(t0, t1, t2, t3, t4, t5, t6, h3+k)
}

// square sets z to x².
func (z *element) square(x *element) {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	h01, t1 := bits.Mul64(x0, x1)
	h02, l02 := bits.Mul64(x0, x2)
	h03, l03 := bits.Mul64(x0, x3)
	h12, l12 := bits.Mul64(x1, x2)
	h13, l13 := bits.Mul64(x1, x3)
	h23, l23 := bits.Mul64(x2, x3)
	t2, k := bits.Add64(h01, l02, 0)
	t3, k := bits.Add64(h02, l03, k)
	t4, k := bits.Add64(h03, l13, k)
	t5, k := bits.Add64(h13, l23, k)
	t6 := h23 + k
	t3, k = bits.Add64(t3, l12, 0)
	t4, k = bits.Add64(t4, h12, k)
	t5, k = bits.Add64(t5, 0, k)
	t6 += k

	t7 := t6 >> 63 // each product of two different words counts twice
	t1, k = bits.Add64(t1, t1, 0)
	t2, k = bits.Add64(t2, t2, k)
	t3, k = bits.Add64(t3, t3, k)
	t4, k = bits.Add64(t4, t4, k)
	t5, k = bits.Add64(t5, t5, k)
	t6 += t6 + k

	h0, t0 := bits.Mul64(x0, x0)
	h1, l1 := bits.Mul64(x1, x1)
	h2, l2 := bits.Mul64(x2, x2)
	h3, l3 := bits.Mul64(x3, x3)
	t1, k = bits.Add64(t1, h0, 0)
	t2, k = bits.Add64(t2, l1, k)
	t3, k = bits.Add64(t3, h1, k)
	t4, k = bits.Add64(t4, l2, k)
	t5, k = bits.Add64(t5, h2, k)
	t6, k = bits.Add64(t6, l3, k)
	z.reduce(t0, t1, t2, t3, t4, t5, t6, t7+h3+k)
}

// reduce sets z to the number of eight words. It adds the upper half, times excess, to the lower half; that leaves a
// word below 2^34 over. It adds that word, times excess, too; that leaves at most one carry, beside a number below 2^67.
func (z *element) reduce(t0, t1, t2, t3, t4, t5, t6, t7 uint64) {
	h0, l0 := bits.Mul64(t4, excess)
	h1, l1 := bits.Mul64(t5, excess)
	h2, l2 := bits.Mul64(t6, excess)
	h3, l3 := bits.Mul64(t7, excess)
	l1, k := bits.Add64(h0, l1, 0)
	l2, k = bits.Add64(h1, l2, k)
	l3, k = bits.Add64(h2, l3, k)
	h3 += k
	t0, k = bits.Add64(t0, l0, 0)
	t1, k = bits.Add64(t1, l1, k)
	t2, k = bits.Add64(t2, l2, k)
	t3, k = bits.Add64(t3, l3, k)
	h0, l0 = bits.Mul64(h3+k, excess)
	t0, k = bits.Add64(t0, l0, 0)
	t1, k = bits.Add64(t1, h0, k)
	t2, k = bits.Add64(t2, 0, k)
	t3, k = bits.Add64(t3, 0, k)
	if k != 0 {
		t0, k = bits.Add64(t0, excess, 0)
		t1 += k
	}
	z[0], z[1], z[2], z[3] = t0, t1, t2, t3
}

// add sets z to x + y.
func (z *element) add(x, y *element) {
	t0, k := bits.Add64(x[0], y[0], 0)
	t1, k := bits.Add64(x[1], y[1], k)
	t2, k := bits.Add64(x[2], y[2], k)
	t3, k := bits.Add64(x[3], y[3], k)
	t0, k = bits.Add64(t0, -k&excess, 0)
	t1, k = bits.Add64(t1, 0, k)
	t2, k = bits.Add64(t2, 0, k)
	t3, k = bits.Add64(t3, 0, k)
	z[0], z[1], z[2], z[3] = t0+-k&excess, t1, t2, t3 // a second carry leaves less than excess
}

// sub sets z to x - y.
func (z *element) sub(x, y *element) {
	t0, k := bits.Sub64(x[0], y[0], 0)
	t1, k := bits.Sub64(x[1], y[1], k)
	t2, k := bits.Sub64(x[2], y[2], k)
	t3, k := bits.Sub64(x[3], y[3], k)
	t0, k = bits.Sub64(t0, -k&excess, 0)
	t1, k = bits.Sub64(t1, 0, k)
	t2, k = bits.Sub64(t2, 0, k)
	t3, k = bits.Sub64(t3, 0, k)
	z[0], z[1], z[2], z[3] = t0- -k&excess, t1, t2, t3 // a second borrow leaves more than 2^256 - excess
}

// negate sets z to -x.
func (z *element) negate(x *element) { z.sub(&element{}, x) }

// halve sets z to x / 2: when x is odd, p is added before the shift.
func (z *element) halve(x *element) {
	odd := -(x[0] & 1)
	t0, k := bits.Add64(x[0], odd&lowest, 0)
	t1, k := bits.Add64(x[1], odd, k)
	t2, k := bits.Add64(x[2], odd, k)
	t3, k := bits.Add64(x[3], odd, k)
	z[0], z[1], z[2], z[3] = t0>>1|t1<<63, t1>>1|t2<<63, t2>>1|t3<<63, t3>>1|k<<63
}

// isZero reports whether x is 0 modulo p; 0 has the two forms 0 and p.
func (x *element) isZero() bool {
	return x[0]|x[1]|x[2]|x[3] == 0 || x[0] == lowest && x[1]&x[2]&x[3] == ones
}

func (x *element) equal(y *element) bool {
	var d element
	d.sub(x, y)
	return d.isZero()
}

// canonical returns the form of x below p.
func (x *element) canonical() element {
	if x[0] >= lowest && x[1]&x[2]&x[3] == ones {
		return element{x[0] - lowest}
	}
	return *x
}

func (x *element) isOdd() bool { return x.canonical()[0]&1 == 1 }

// setBytes reads a number of 32 bytes, the highest first, and reports whether the number is below p.
func (z *element) setBytes(b *[32]byte) bool {
	for i := range z {
		z[3-i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return z[0] < lowest || z[1]&z[2]&z[3] != ones
}
