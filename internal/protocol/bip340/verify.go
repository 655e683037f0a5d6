package bip340

import (
	"crypto/sha256"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// verifyInGo does the work of Verify in Go alone.
func verifyInGo(pk *[32]byte, msg []byte, sig *[64]byte) bool {
	var p affine
	rx, s, ok := parse(sig)
	if !ok || !liftX(&p, pk) {
		return false
	}
	e := challenge(sig[:32], pk, msg)
	e.Neg(&e)
	r := combine(&s, &e, &p) // sG - eP
	return isR(&r, &rx)
}

// parse reads R's x coordinate and s. It reports whether rx is below the size of the field and s below the order of the group.
func parse(sig *[64]byte) (rx element, s fr.Element, ok bool) {
	ok = rx.setBytes((*[32]byte)(sig[:32])) && s.SetBytesCanonical(sig[32:]) == nil
	return rx, s, ok
}

// isR reports whether r is the point with that x coordinate and an even y.
func isR(r *point, rx *element) bool {
	if r.z.isZero() {
		return false
	}
	var z, x, y element
	z.square(&r.z)
	if x.mul(rx, &z); !x.equal(&r.x) {
		return false
	}
	z.mul(&z, &r.z)
	z.invert(&z)
	y.mul(&r.y, &z)
	return !y.isOdd()
}

// liftX sets p to the point with that x coordinate and an even y, and reports whether there is such a point.
func liftX(p *affine, pk *[32]byte) bool {
	var x element
	return x.setBytes(pk) && p.lift(&x)
}

// challenge returns the hash of R, P and the message, modulo the order of the group.
func challenge(rx []byte, pk *[32]byte, msg []byte) (e fr.Element) {
	var space [160]byte // enough for a message of 32 bytes, without an allocation
	buf := append(append(space[:0], challengeTag[:]...), challengeTag[:]...)
	buf = append(append(append(buf, rx...), pk[:]...), msg...)
	h := sha256.Sum256(buf)
	e.SetBytes(h[:])
	return e
}

// challengeTag is the hash of the tag, which is hashed twice before R, P and the message.
var challengeTag = sha256.Sum256([]byte("BIP0340/challenge"))
