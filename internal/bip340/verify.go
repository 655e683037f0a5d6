package bip340

import (
	"crypto/sha256"

	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// Verify reports whether sig, the bytes of R and then those of s, is a signature of msg by the key with that x coordinate.
func Verify(pk *[32]byte, msg []byte, sig *[64]byte) bool {
	var p curve.G1Affine
	rx, s, ok := parse(sig)
	if !ok || !liftX(&p, pk) {
		return false
	}
	e := challenge(sig[:32], pk, msg)
	e.Neg(&e)
	r := combine(&s, &e, &p) // sG - eP
	return isR(&r, &rx)
}

// parse reads R's x coordinate and s, and reports whether they are below the size of the field and the order of the group.
func parse(sig *[64]byte) (rx fp.Element, s fr.Element, ok bool) {
	ok = rx.SetBytesCanonical(sig[:32]) == nil && s.SetBytesCanonical(sig[32:]) == nil
	return rx, s, ok
}

// isR reports whether r is the point with that x coordinate and an even y.
func isR(r *curve.G1Jac, rx *fp.Element) bool {
	if r.Z.IsZero() {
		return false
	}
	var zz, x, y fp.Element
	zz.Square(&r.Z)
	if x.Mul(rx, &zz); !x.Equal(&r.X) {
		return false
	}
	y.Mul(&zz, &r.Z).Inverse(&y)
	return !isOdd(y.Mul(&y, &r.Y))
}

// liftX sets p to the point with that x coordinate and an even y, and reports whether there is one.
func liftX(p *curve.G1Affine, x *[32]byte) bool {
	if p.X.SetBytesCanonical(x[:]) != nil {
		return false
	}
	var yy fp.Element
	yy.Square(&p.X).Mul(&yy, &p.X).Add(&yy, &seven)
	if p.Y.Sqrt(&yy) == nil {
		return false
	}
	if isOdd(&p.Y) {
		p.Y.Neg(&p.Y)
	}
	return true
}

// seven is b of the curve y² = x³ + b.
var seven = fp.NewElement(7)

func isOdd(x *fp.Element) bool { return x.Bits()[0]&1 == 1 }

// challenge is the hash of R, P and the message, modulo the order of the group.
func challenge(rx []byte, pk *[32]byte, msg []byte) (e fr.Element) {
	buf := make([]byte, 0, 2*len(challengeTag)+96)
	buf = append(append(buf, challengeTag[:]...), challengeTag[:]...)
	buf = append(append(append(buf, rx...), pk[:]...), msg...)
	h := sha256.Sum256(buf)
	e.SetBytes(h[:])
	return e
}

// challengeTag stands twice before what is hashed.
var challengeTag = sha256.Sum256([]byte("BIP0340/challenge"))
