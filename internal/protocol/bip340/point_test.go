package bip340

import (
	"math/big"
	"math/rand/v2"
	"testing"

	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
)

// gnark is the same point for another implementation, where infinity is (0, 0).
func (p *affine) gnark() *curve.G1Affine {
	q := new(curve.G1Affine)
	q.X.SetBigInt(p.x.big())
	q.Y.SetBigInt(p.y.big())
	return q
}

func (p *point) gnark() *curve.G1Affine {
	var q curve.G1Jac
	q.X.SetBigInt(p.x.big())
	q.Y.SetBigInt(p.y.big())
	q.Z.SetBigInt(p.z.big())
	return new(curve.G1Affine).FromJacobian(&q)
}

func ours(p *curve.G1Affine) *affine {
	return &affine{elementOf(p.X.BigInt(new(big.Int))), elementOf(p.Y.BigInt(new(big.Int)))}
}

// somePoints are small multiples of the generator, which meet each other in sums, and others.
func somePoints(n int) []curve.G1Affine {
	_, g := curve.Generators()
	r := rand.New(rand.NewPCG(11, 340))
	out := make([]curve.G1Affine, n)
	for i := range out {
		k := big.NewInt(int64(i+2) / 2)
		if i > n/2 {
			k.SetUint64(r.Uint64())
		}
		if i%2 == 1 {
			k.Neg(k)
		}
		out[i].ScalarMultiplication(&g, k)
	}
	return out
}

// Sums of all pairs, with z of 1 and others, and of infinity.
func TestAddPoints(t *testing.T) {
	all := somePoints(24)
	none := point{x: element{3}, y: element{4}}
	for i := range all {
		for j := range all {
			q := ours(&all[j])
			for _, z := range []element{{1}, {ones, ones, ones, ones}, {5, 6, 7, 8}} {
				var p, twice point
				p.x, p.y = ours(&all[i]).scaled(&z)
				p.z = z
				twice.double(&p)
				if want := new(curve.G1Affine).Add(&all[i], &all[i]); !twice.gnark().Equal(want) {
					t.Fatalf("the double of %d, z %x, is wrong", i, z)
				}
				sum := p
				sum.add(q)
				want := new(curve.G1Affine).Add(&all[i], &all[j])
				if !sum.gnark().Equal(want) || sum.z.isZero() != want.IsInfinity() {
					t.Fatalf("the sum of %d, z %x, and %d is wrong", i, z, j)
				}
			}
		}
		sum := none
		sum.add(ours(&all[i]))
		if !sum.gnark().Equal(&all[i]) {
			t.Fatalf("infinity and %d is wrong", i)
		}
	}
	var twice point
	if twice.double(&none); !twice.z.isZero() {
		t.Error("twice infinity is a point")
	}
}

func TestMultiples(t *testing.T) {
	var own, turned [8]affine
	var grown [8]element
	m := multiples{own[:], turned[:]}
	check := func(p *curve.G1Affine, m *multiples, z element) {
		t.Helper()
		var l big.Int
		lambda.BigInt(&l)
		for i := range m.own {
			a, b := point{m.own[i].x, m.own[i].y, z}, point{m.turned[i].x, m.turned[i].y, z}
			want := new(curve.G1Affine).ScalarMultiplication(p, big.NewInt(int64(2*i+1)))
			if !a.gnark().Equal(want) || !b.gnark().Equal(want.ScalarMultiplication(want, &l)) {
				t.Fatalf("the multiple by %d is wrong", 2*i+1)
			}
		}
	}
	for _, p := range somePoints(6) {
		check(&p, &m, m.fill(ours(&p), grown[:]))
	}
	_, g := curve.Generators()
	check(&g, &multiples{base.own[:40], base.turned[:40]}, element{1})
}

// A verification allocates nothing when the message is as long as an id.
func TestVerifyAllocatesNothing(t *testing.T) {
	var pk [32]byte
	var sig [64]byte
	pk, sig[63] = generator.x.bytes(), 1
	x := generator.x.bytes()
	copy(sig[:], x[:])
	msg := make([]byte, 32)
	if n := testing.AllocsPerRun(10, func() { Verify(&pk, msg, &sig) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
