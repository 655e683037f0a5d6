package bip340

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// sumOf is what a batch adds up, of points that are multiples of the generator: it gives the generator's multiple.
func sumOf(rs, keys []fr.Element, as []half, es []fr.Element) (sum fr.Element) {
	for i := range rs {
		var x fr.Element
		x.SetBigInt(as[i].big())
		sum.Add(&sum, x.Mul(&x, &rs[i]))
	}
	for i := range keys {
		var x fr.Element
		sum.Add(&sum, x.Mul(&es[i], &keys[i]))
	}
	return sum
}

func times(k *fr.Element) affine {
	_, g := curve.Generators()
	var n big.Int
	return *ours(new(curve.G1Affine).ScalarMultiplication(&g, k.BigInt(&n)))
}

// Sums are infinity exactly when they should be, with points that are equal or opposite, numbers that are equal, small or as
// long as can be, and in all sizes.
func TestTermsVanish(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 340))
	pool := scalars()
	pool = slices.DeleteFunc(pool[len(pool)-300:], func(x fr.Element) bool { return x.IsZero() })
	numbers := []half{{}, {bits: [2]uint64{1}}, {bits: [2]uint64{ones, ones}}, {bits: [2]uint64{0, 1 << 63}}, {bits: [2]uint64{15, 0}}}
	one := fr.One()
	var ts terms
	for _, n := range []int{0, 1, 2, 7, 40, 150} {
		for round := range 6 {
			var rs, keys, es []fr.Element
			var as []half
			for range n {
				k := pool[r.IntN(len(pool))]
				switch {
				case len(rs) > 0 && round%3 == 1:
					k = rs[0]
				case len(rs) > 0 && round%3 == 2:
					k.Neg(&rs[len(rs)-1])
				}
				rs = append(rs, k)
				a := half{bits: [2]uint64{r.Uint64(), r.Uint64()}}
				if round >= 3 {
					a = numbers[(round+len(as)/4)%len(numbers)]
				}
				as = append(as, a)
				if r.IntN(3) == 0 {
					keys, es = append(keys, pool[r.IntN(len(pool))]), append(es, pool[r.IntN(len(pool))])
				}
			}
			g := sumOf(rs, keys, as, es)
			g.Neg(&g)
			points, folds, here := make([]affine, len(rs)), make([]folded, len(keys)+1), []int32{} // the first is not in the batch
			for i := range rs {
				points[i] = times(&rs[i])
			}
			for i := range keys {
				folds[i+1] = folded{row: row{times(&keys[i])}, e: es[i]}
				here = append(here, int32(i+1))
			}
			if !ts.vanish(&g, folds, here, points, as) {
				t.Fatalf("%d points, round %d: the sum is not infinity", n, round)
			}
			if g.Add(&g, &one); ts.vanish(&g, folds, here, points, as) {
				t.Fatalf("%d points, round %d: the generator is infinity", n, round)
			}
		}
	}
}

// The affine sum of two points, also of the same and of opposite ones.
func TestMeet(t *testing.T) {
	all := somePoints(24)
	for i := range all {
		for j := range all {
			p, q := ours(&all[i]), ours(&all[j])
			below := slopeBelow(p, q)
			below.invert(&below)
			var sum affine
			want := new(curve.G1Affine).Add(&all[i], &all[j])
			if ok := sum.meet(p, q, &below); ok == want.IsInfinity() || ok && !sum.gnark().Equal(want) {
				t.Fatalf("%d and %d: %v, %x", i, j, ok, sum)
			}
		}
	}
}

// Coefficients have 128 bits, each of which is set in half of them whatever the bit before it is; none comes twice. There are as
// many of every byte in every place as chance allows: chi square of 255 degrees of freedom is beyond 400 once in 10^8.
func TestCoefficientsAreUniform(t *testing.T) {
	key, sig := [32]byte{1}, [64]byte{2}
	c, _ := newCoefficients([]Signed{{&key, []byte("m"), &sig}}, nil)
	const n = 1 << 14
	seen := make(map[[2]uint64]bool)
	var set, pairs [128]int
	var bytes [16][256]int
	for range n {
		h := c.next()
		if h.negative || seen[h.bits] {
			t.Fatalf("%v", h)
		}
		seen[h.bits] = true
		for i := range uint(128) {
			bit := int(h.window(i, 1))
			set[i] += bit
			pairs[i] += bit ^ int(h.window((i+1)%128, 1))
		}
		for i := range uint(16) {
			bytes[i][h.window(8*i, 8)]++
		}
	}
	for i := range 128 {
		const sigma = 64 // of n/2 trials, the root of n/4
		if d, e := set[i]-n/2, pairs[i]-n/2; max(d, -d, e, -e) > 6*sigma {
			t.Errorf("bit %d: %d set, %d unlike the next, of %d", i, set[i], pairs[i], n)
		}
	}
	for i := range bytes {
		chi := 0.0
		for _, got := range bytes[i] {
			const want = n / 256.0
			chi += (float64(got) - want) * (float64(got) - want) / want
		}
		if chi > 400 || chi < 150 {
			t.Errorf("byte %d: chi square is %v", i, chi)
		}
	}
}

// Whatever is changed in a batch changes its coefficients; the same batch has the same.
func TestCoefficientsAreOfTheWholeBatch(t *testing.T) {
	type bytes struct {
		key [32]byte
		sig [64]byte
		msg []byte
	}
	first := func(parts []bytes) half {
		var batch []Signed
		for i := range parts {
			batch = append(batch, Signed{&parts[i].key, parts[i].msg, &parts[i].sig})
		}
		c, _ := newCoefficients(batch, []byte("what stood there before"))
		return c.next()
	}
	base := func() []bytes {
		return []bytes{{[32]byte{1}, [64]byte{2}, []byte("one")}, {[32]byte{3}, [64]byte{4}, []byte("two")}, {msg: []byte{}}}
	}
	seen := map[half]string{first(base()): "nothing"}
	if again := first(base()); seen[again] == "" {
		t.Error("the same batch has two")
	}
	check := func(what string, parts []bytes) {
		t.Helper()
		h := first(parts)
		if other, known := seen[h]; known {
			t.Errorf("changing %s is like changing %s", what, other)
		}
		seen[h] = what
	}
	for i := range 3 {
		for j := range 64 {
			b := base()
			b[i].sig[j] ^= 1
			check("a signature", b)
			if j < 32 {
				b = base()
				b[i].key[j] ^= 1
				check("a key", b)
			}
		}
		b := base()
		b[i].msg = append(b[i].msg, 0)
		check("a message", b)
	}
	b := base()
	b[0], b[1] = b[1], b[0]
	check("the order", b)
	check("the number", base()[:2])
	b = base()
	b[0].msg, b[1].msg = b[1].msg, b[0].msg
	check("whose message it is", b)
}
