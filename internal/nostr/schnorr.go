package nostr

import (
	"crypto/sha256"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// Schnorr is the Verifier that Nostr means: BIP-340 over secp256k1.
type Schnorr struct{}

// Verify reports whether sig is a valid BIP-340 signature by pk over the 32 bytes of id.
func (Schnorr) Verify(pk PubKey, id ID, sig Sig) bool {
	return verifySchnorr(&pk, id[:], &sig)
}

// verifySchnorr is Verify of BIP-340 for a message of any length.
func verifySchnorr(pk *PubKey, msg []byte, sig *Sig) bool {
	var p, r secp256k1.JacobianPoint
	if !liftX(pk, &p) {
		return false
	}
	rx, sb := (*[32]byte)(sig[:32]), (*[32]byte)(sig[32:])
	var wantX secp256k1.FieldVal
	if wantX.SetBytes(rx) != 0 {
		return false
	}
	var s, e secp256k1.ModNScalar
	if s.SetBytes(sb) != 0 {
		return false
	}
	challenge(&e, rx, pk, msg)

	// R = s*G - e*P
	var sG, eP secp256k1.JacobianPoint
	secp256k1.ScalarBaseMultNonConst(&s, &sG)
	secp256k1.ScalarMultNonConst(e.Negate(), &p, &eP)
	secp256k1.AddNonConst(&sG, &eP, &r)
	if r.Z.Normalize().IsZero() {
		return false
	}
	r.ToAffine()
	return !r.Y.IsOdd() && r.X.Equals(&wantX)
}

// liftX finds the point with that x coordinate and an even y, if there is one.
func liftX(pk *PubKey, p *secp256k1.JacobianPoint) bool {
	if p.X.SetBytes((*[32]byte)(pk)) != 0 {
		return false
	}
	if !secp256k1.DecompressY(&p.X, false, &p.Y) {
		return false
	}
	p.Y.Normalize()
	p.Z.SetInt(1)
	return true
}

// challenge sets e to the BIP-340 challenge of R, P and the message, modulo n.
func challenge(e *secp256k1.ModNScalar, rx *[32]byte, pk *PubKey, msg []byte) {
	h := taggedHash("BIP0340/challenge", rx[:], pk[:], msg)
	e.SetBytes(&h)
}

// taggedHash is the hash function of BIP-340: SHA-256 with the hash of the tag before the message, twice.
func taggedHash(tag string, parts ...[]byte) [32]byte {
	t := sha256.Sum256([]byte(tag))
	buf := make([]byte, 0, 192)
	buf = append(append(buf, t[:]...), t[:]...)
	for _, p := range parts {
		buf = append(buf, p...)
	}
	return sha256.Sum256(buf)
}
