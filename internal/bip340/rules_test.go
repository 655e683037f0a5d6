package bip340

import (
	"encoding/hex"
	"testing"

	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
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
		var p curve.G1Affine
		if got := liftX(&p, (*[32]byte)(b)); got != want || got && (!p.IsOnCurve() || isOdd(&p.Y)) {
			t.Errorf("%s: lifted = %v, to %s", x, got, p.String())
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
	g, affine := curve.Generators() // its y is even
	var none, odd curve.G1Jac
	odd.Neg(&g)
	if !isR(&g, &affine.X) || isR(&odd, &affine.X) || isR(&g, &affine.Y) {
		t.Error("the generator is mistaken")
	}
	four := g
	four.DoubleAssign().DoubleAssign() // Z is not 1
	var q curve.G1Affine
	if q.FromJacobian(&four); isR(&four, &q.X) == isOdd(&q.Y) {
		t.Error("four times the generator is mistaken")
	}
	if isR(&none, &none.X) || isR(&none, &affine.X) {
		t.Error("infinity is a point")
	}
}
