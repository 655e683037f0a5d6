package bip340_test

import (
	"crypto/sha256"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// The oracle is BIP-340 as it is written, on a field and a group by others.

// oracle reports whether sig is a signature of msg by the key.
func oracle(pk *[32]byte, msg []byte, sig *[64]byte) bool {
	var p, r, sG, eP secp256k1.JacobianPoint
	if p.X.SetBytes(pk) != 0 || !secp256k1.DecompressY(&p.X, false, &p.Y) {
		return false
	}
	p.Y.Normalize()
	p.Z.SetInt(1)
	var wantX secp256k1.FieldVal
	var s secp256k1.ModNScalar
	if wantX.SetBytes((*[32]byte)(sig[:32])) != 0 || s.SetBytes((*[32]byte)(sig[32:])) != 0 {
		return false
	}
	e := oracleChallenge(sig[:32], pk[:], msg)
	secp256k1.ScalarBaseMultNonConst(&s, &sG)
	secp256k1.ScalarMultNonConst(e.Negate(), &p, &eP)
	secp256k1.AddNonConst(&sG, &eP, &r)
	if r.Z.Normalize().IsZero() {
		return false
	}
	r.ToAffine()
	return !r.Y.IsOdd() && r.X.Equals(&wantX)
}

func oracleChallenge(rx, pk, msg []byte) secp256k1.ModNScalar {
	tag := sha256.Sum256([]byte("BIP0340/challenge"))
	h := sha256.New()
	for _, b := range [][]byte{tag[:], tag[:], rx, pk, msg} {
		h.Write(b)
	}
	var e secp256k1.ModNScalar
	e.SetByteSlice(h.Sum(nil))
	return e
}

// signer makes signatures with a nonce of the caller's choice.
type signer struct {
	secret secp256k1.ModNScalar
	public [32]byte
}

func newSigner(secret *secp256k1.ModNScalar) *signer {
	s := &signer{secret: *secret}
	s.public = evenPoint(&s.secret)
	return s
}

// evenPoint is the x coordinate of kG, and negates k when its y is odd.
func evenPoint(k *secp256k1.ModNScalar) [32]byte {
	var p secp256k1.JacobianPoint
	secp256k1.ScalarBaseMultNonConst(k, &p)
	p.ToAffine()
	if p.Y.IsOdd() {
		k.Negate()
	}
	return *p.X.Bytes()
}

func (s *signer) sign(msg []byte, nonce *secp256k1.ModNScalar) (sig [64]byte) {
	k := *nonce
	rx := evenPoint(&k)
	e := oracleChallenge(rx[:], s.public[:], msg)
	k.Add(e.Mul(&s.secret))
	copy(sig[:32], rx[:])
	k.PutBytesUnchecked(sig[32:])
	return sig
}
