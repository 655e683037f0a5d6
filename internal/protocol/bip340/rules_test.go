package bip340

import (
	"encoding/hex"
	"math/big"
	"testing"
)

// One is the x coordinate of a point, and so is p + 1 if it is reduced modulo p, which it must not be; five is not.
func TestLift(t *testing.T) {
	for x, want := range map[string]bool{
		"0000000000000000000000000000000000000000000000000000000000000001": true,
		"fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc30": false,
		"0000000000000000000000000000000000000000000000000000000000000005": false,
	} {
		b, err := hex.DecodeString(x)
		if err != nil {
			t.Fatal(err)
		}
		var p affine
		if got := liftX(&p, (*[32]byte)(b)); got != want || got && (!p.gnark().IsOnCurve() || p.y.isOdd()) {
			t.Errorf("%s: lifted = %v, to %x", x, got, p)
		}
	}
}

// A signature has a field element and a scalar, neither of them reduced. Nobody can make a signature that would be genuine
// but for this.
func TestParse(t *testing.T) {
	const (
		p = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f"
		n = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	)
	one := "0000000000000000000000000000000000000000000000000000000000000001"
	for sig, want := range map[string]bool{
		one + one: true, p[:62] + "2e" + n[:62] + "40": true,
		p + one: false, p[:62] + "30" + one: false, one + n: false, one + n[:62] + "42": false,
	} {
		b, err := hex.DecodeString(sig)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := parse((*[64]byte)(b)); ok != want {
			t.Errorf("%s: parsed = %v", sig, ok)
		}
	}
}

// The point at infinity is nobody's R, whatever stands in its other coordinates.
func TestIsR(t *testing.T) {
	g, none, odd, four := point{}, point{}, point{}, point{}
	g.set(&generator) // its y is even
	odd = g
	odd.y.negate(&g.y)
	if !isR(&g, &generator.x) || isR(&odd, &generator.x) || isR(&g, &generator.y) {
		t.Error("the generator is mistaken")
	}
	four.double(&g) // z is not 1
	four.double(&four)
	if q := four.gnark(); isR(&four, new(elementOf(q.X.BigInt(new(big.Int))))) == (q.Y.Bits()[0]&1 == 1) {
		t.Error("four times the generator is mistaken")
	}
	if isR(&none, &none.x) || isR(&none, &generator.x) {
		t.Error("infinity is a point")
	}
}
