package bip340

import (
	"math/big"
	"math/rand/v2"
	"testing"

	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// scalars are those at the edges, and many others.
func scalars() []fr.Element {
	r := rand.New(rand.NewPCG(5, 340))
	out := []fr.Element{{}, fr.One(), lambda, minusB1, minusB2, scalar("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0")}
	for _, x := range out {
		var next, minus fr.Element
		one := fr.One()
		next.Add(&x, &one)
		minus.Neg(&x)
		out = append(out, next, minus)
	}
	for range 2000 {
		var b [32]byte
		for i := r.IntN(32); i < 32; i++ {
			b[i] = byte(r.Uint32())
		}
		var x fr.Element
		x.SetBytes(b[:])
		out = append(out, x)
	}
	return out
}

func (h half) big() *big.Int {
	x := new(big.Int).SetUint64(h.bits[1])
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(h.bits[0]))
	if h.negative {
		x.Neg(x)
	}
	return x
}

// Both halves are short, and together they are the scalar.
func TestSplit(t *testing.T) {
	var l big.Int
	lambda.BigInt(&l)
	for _, k := range scalars() {
		a, b := split(&k)
		var want big.Int
		k.BigInt(&want)
		got := new(big.Int).Mul(b.big(), &l)
		got.Add(got, a.big()).Mod(got, fr.Modulus())
		if got.Cmp(&want) != 0 {
			t.Errorf("%x: %x + %x lambda", &want, a.big(), b.big())
		}
	}
}

// The digits are the number, odd, small and far from each other.
func TestDigits(t *testing.T) {
	halves := []half{{}, {bits: [2]uint64{1}}, {bits: [2]uint64{^uint64(0), ^uint64(0)}}, {bits: [2]uint64{^uint64(0), ^uint64(0)}, negative: true},
		{bits: [2]uint64{0, 1 << 63}}, {bits: [2]uint64{1 << 63, 1}}}
	for _, k := range scalars() {
		a, b := split(&k)
		halves = append(halves, a, b)
	}
	for _, w := range []uint{2, keyWindow, baseWindow} {
		for _, h := range halves {
			var d digits
			n := d.recode(&h, w)
			sum, last := new(big.Int), -int(w)
			for i, x := range d {
				if x == 0 {
					continue
				}
				if i >= n || x&1 == 0 || x >= 1<<(w-1) || -x >= 1<<(w-1) || i-last < int(w) {
					t.Fatalf("%x: digit %d of %d is %d, the one before is the %d", h.big(), i, n, x, last)
				}
				last = i
				sum.Add(sum, new(big.Int).Lsh(big.NewInt(int64(x)), uint(i)))
			}
			if sum.Cmp(h.big()) != 0 || n != last+1 && n != 0 {
				t.Fatalf("%x became %x in %d digits", h.big(), sum, n)
			}
		}
	}
}

// The sum is what the curve's own multiplications give.
func TestCombine(t *testing.T) {
	_, g := curve.Generators()
	all := scalars()[:150]
	for i, s := range all {
		e, k := all[(i*7+3)%len(all)], all[(i*5+1)%len(all)]
		if k.IsZero() {
			continue
		}
		var x, y, z big.Int
		s.BigInt(&x)
		e.BigInt(&y)
		k.BigInt(&z)
		var p, want, other curve.G1Affine
		p.ScalarMultiplication(&g, &z)
		want.ScalarMultiplication(&g, &x)
		other.ScalarMultiplication(&p, &y)
		want.Add(&want, &other)
		sum := combine(&s, &e, ours(&p))
		if got := sum.gnark(); !got.Equal(&want) {
			t.Errorf("%x G + %x (%x G) is wrong", &x, &y, &z)
		}
	}
}
