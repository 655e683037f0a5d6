package bip340

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// lambda is the endomorphism of the curve: lambda times (x, y) is (beta x, y).
var lambda = scalar("5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72")

// A reduced basis of the lattice of all (a, b) with a + b lambda = 0 modulo the order n is (a1, b1), (a2, b2). These are
// b1 and b2 negated, and 2^384 b2 / n and -2^384 b1 / n rounded, which save a division.
var (
	minusB1 = scalar("e4437ed6010e88286f547fa90abfe4c3")
	minusB2 = scalar("fffffffffffffffffffffffffffffffe8a280ac50774346dd765cda83db1562c")

	g1 = [4]uint64{0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	g2 = [4]uint64{0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828}
)

func scalar(hex string) (x fr.Element) {
	if _, err := x.SetString("0x" + hex); err != nil {
		panic(err)
	}
	return x
}

// half is a number of at most 128 bits and a sign.
type half struct {
	bits     [2]uint64
	negative bool
}

// split finds a and b with k = a + b lambda modulo n.
func split(k *fr.Element) (a, b half) {
	words := k.Bits()
	c1, c2 := rounded(&words, &g1), rounded(&words, &g2)
	var x, y fr.Element
	x.Mul(&c1, &minusB1)
	y.Mul(&c2, &minusB2)
	y.Add(&y, &x)
	x.Mul(&y, &lambda)
	x.Sub(k, &x)
	return short(&x), short(&y)
}

// rounded returns k g / 2^384, rounded to the nearest integer.
func rounded(k, g *[4]uint64) fr.Element {
	var t [8]uint64
	for i, x := range k {
		var carry uint64
		for j, y := range g {
			hi, lo := bits.Mul64(x, y)
			var c uint64
			lo, c = bits.Add64(lo, carry, 0)
			hi += c
			t[i+j], c = bits.Add64(t[i+j], lo, 0)
			carry = hi + c
		}
		t[i+4] = carry
	}
	lo, c := bits.Add64(t[6], t[5]>>63, 0)
	return wide(lo, t[7]+c)
}

// wide returns the scalar of two words, the low one first.
func wide(lo, hi uint64) fr.Element {
	var b [32]byte
	for i := range 8 {
		b[31-i] = byte(lo >> (8 * i))
		b[23-i] = byte(hi >> (8 * i))
	}
	var x fr.Element
	x.SetBytes(b[:])
	return x
}

// short converts a scalar that is below 2^128, or the negative of such a scalar.
func short(x *fr.Element) half {
	w := x.Bits()
	if w[2]|w[3] == 0 {
		return half{bits: [2]uint64{w[0], w[1]}}
	}
	var neg fr.Element
	w = neg.Neg(x).Bits()
	return half{bits: [2]uint64{w[0], w[1]}, negative: true}
}
