package bip340

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// bytes is the form of x below p.
func (x *element) bytes() (b [32]byte) {
	for i, w := range x.canonical() {
		binary.BigEndian.PutUint64(b[24-8*i:], w)
	}
	return b
}

func (x *element) big() *big.Int {
	n := new(big.Int)
	for i := 3; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x[i]))
	}
	return n
}

func elementOf(n *big.Int) (x element) {
	var b [32]byte
	n.FillBytes(b[:])
	x.setBytes(&b)
	return x
}

// edges are numbers whose words are all of those at which carries begin or end.
func edges() []element {
	words := []uint64{0, 1, 977, excess, lowest - 1, lowest, lowest + 1, ones - 1, ones, 1 << 63}
	var out []element
	for _, a := range words {
		for _, b := range []uint64{0, 1, ones - 1, ones} {
			for _, c := range []uint64{0, ones} {
				for _, d := range []uint64{0, 1, 1 << 63, ones - 1, ones} {
					out = append(out, element{a, b, c, d})
				}
			}
		}
	}
	return out
}

func someElements(r *rand.Rand, n int) []element {
	out := make([]element, n)
	for i := range out {
		for j := range out[i] {
			if out[i][j] = r.Uint64(); r.IntN(4) == 0 { // long runs of zeros or ones
				out[i][j] = -(r.Uint64() & 1) << r.IntN(64) >> r.IntN(64)
			}
		}
	}
	return out
}

// checkPair does everything that takes two elements, against math/big.
func checkPair(t *testing.T, x, y *element) {
	t.Helper()
	a, b, p := x.big(), y.big(), fp.Modulus()
	for name, f := range map[string]struct {
		got  func(z, x, y *element)
		want func(z, x, y *big.Int) *big.Int
	}{
		"times": {(*element).mul, (*big.Int).Mul}, "plus": {(*element).add, (*big.Int).Add}, "minus": {(*element).sub, (*big.Int).Sub},
	} {
		var z element
		f.got(&z, x, y)
		want := f.want(new(big.Int), a, b)
		if want.Mod(want, p); new(big.Int).Mod(z.big(), p).Cmp(want) != 0 {
			t.Fatalf("%x %s %x is %x, want %x", a, name, b, z.big(), want)
		}
		same := *x // the result may stand where an operand does
		f.got(&same, &same, y)
		if same != z {
			t.Fatalf("%x %s %x in place is %x, not %x", a, name, b, same, z)
		}
	}
	if got, want := x.equal(y), new(big.Int).Mod(a, p).Cmp(new(big.Int).Mod(b, p)) == 0; got != want {
		t.Fatalf("%x equals %x: %v", a, b, got)
	}
}

// checkOne does everything that takes one element, against math/big.
func checkOne(t *testing.T, x *element) {
	t.Helper()
	a, p := x.big(), fp.Modulus()
	least := new(big.Int).Mod(a, p)
	is := func(name string, got element, want *big.Int) {
		t.Helper()
		if want.Mod(want, p); new(big.Int).Mod(got.big(), p).Cmp(want) != 0 {
			t.Fatalf("%s of %x is %x, want %x", name, a, got.big(), want)
		}
	}
	var z element
	z.square(x)
	is("the square", z, new(big.Int).Mul(a, a))
	z.negate(x)
	is("the negative", z, new(big.Int).Neg(a))
	z.halve(x)
	z.add(&z, &z)
	is("twice the half", z, new(big.Int).Set(a))
	c := x.canonical()
	b := x.bytes()
	var back element
	if c.big().Cmp(least) != 0 || new(big.Int).SetBytes(b[:]).Cmp(least) != 0 || !back.setBytes(&b) || back != c {
		t.Fatalf("%x is %x below p, and %x in bytes", a, c.big(), b)
	}
	if x.isZero() != (least.Sign() == 0) || x.isOdd() != (least.Bit(0) == 1) {
		t.Fatalf("%x: zero = %v, odd = %v", a, x.isZero(), x.isOdd())
	}
}

func TestField(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 340))
	all := edges()
	for i := range all {
		checkOne(t, &all[i])
		for range 40 {
			checkPair(t, &all[i], &all[r.IntN(len(all))])
		}
		for j := range all { // next to 0 and next to 2^256, all of them with each other
			if x, y := &all[i], &all[j]; x[1] == x[2] && x[2] == x[3] && y[1] == y[2] && y[2] == y[3] {
				checkPair(t, x, y)
			}
		}
	}
	all = someElements(r, 4000)
	for i := range all {
		checkOne(t, &all[i])
		checkPair(t, &all[i], &all[(i+1)%len(all)])
	}
}

// Products that end next to 0, p or 2^256 carry where others hardly ever do.
func TestProductsAtTheEdge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 340))
	p := fp.Modulus()
	for _, x := range someElements(r, 500) {
		if x.isZero() {
			continue
		}
		inverse := new(big.Int).ModInverse(x.big(), p)
		for d := int64(-3); d <= 3; d++ {
			y := new(big.Int).Mul(inverse, big.NewInt(d))
			e := elementOf(y.Mod(y, p))
			checkPair(t, &x, &e)
		}
	}
	// The last carry of reduce happens to one product in 2^190: it is made here from its words.
	carried := 0
	for _, t3 := range []uint64{ones, ones - 1} {
		for _, top := range []element{{ones, ones, ones, ones}, {0, 0, 0, ones}, {1, 0, 0, 1 << 63}, {ones, 0, 0, 0}, {}} {
			for _, low := range []uint64{0, 1, lowest - 1, lowest, ones} {
				var z element
				z.reduce(low, ones, ones, t3, top[0], top[1], top[2], top[3])
				want := new(big.Int).Lsh(top.big(), 256)
				below := element{low, ones, ones, t3}
				want.Add(want, below.big()).Mod(want, p)
				if new(big.Int).Mod(z.big(), p).Cmp(want) != 0 {
					t.Errorf("%x %x %x reduced is %x, want %x", top, t3, low, z, want)
				}
				carried++
			}
		}
	}
}

func TestInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 340))
	one := element{1}
	for _, x := range append(someElements(r, 200), edges()...) {
		var z, product element
		z.invert(&x)
		if product.mul(&z, &x); x.isZero() && !z.isZero() || !x.isZero() && !product.equal(&one) {
			t.Fatalf("the inverse of %x is %x", x, z)
		}
	}
}

func TestRoot(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 340))
	p := fp.Modulus()
	squares := 0
	for _, x := range append(someElements(r, 200), edges()...) {
		var z, again element
		ok := z.root(&x)
		if want := big.Jacobi(x.big(), p) >= 0; ok != want {
			t.Fatalf("%x has a root: %v", x, ok)
		}
		if !ok {
			continue
		}
		if again.square(&z); !again.equal(&x) {
			t.Fatalf("the root of %x is %x", x, z)
		}
		squares++
	}
	if squares < 100 {
		t.Errorf("only %d roots", squares)
	}
}

func FuzzField(f *testing.F) {
	for i, x := range edges() {
		if i%37 == 0 {
			a, b := x.bytes(), fmt.Append(nil, i)
			f.Add(a[:], b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var x, y [32]byte
		copy(x[:], a)
		copy(y[:], b)
		var u, v element
		u.setBytes(&x)
		v.setBytes(&y)
		checkOne(t, &u)
		checkPair(t, &u, &v)
	})
}

func BenchmarkField(b *testing.B) {
	xs := someElements(rand.New(rand.NewPCG(10, 340)), 2)
	x, y := xs[0], xs[1]
	for name, f := range map[string]func(){
		"mul": func() { x.mul(&x, &y) }, "square": func() { x.square(&x) }, "add": func() { x.add(&x, &y) }, "sub": func() { x.sub(&x, &y) },
		"halve": func() { x.halve(&x) }, "invert": func() { x.invert(&x) }, "root": func() { y.root(&x) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
