package nostr

import "github.com/decred/dcrd/dcrec/secp256k1/v4"

// VerifySchnorr is BIP-340 for a message of any length, which the official vectors have.
var VerifySchnorr = verifySchnorr

// OnCurve reports whether pk is the x coordinate of a point.
func OnCurve(pk PubKey) bool {
	var p secp256k1.JacobianPoint
	return liftX(&pk, &p)
}

// SignSchnorr is BIP-340 for a message of any length.
func SignSchnorr(k SecretKey, msg []byte, aux [32]byte) (Sig, error) {
	p, err := k.pair()
	if err != nil {
		return Sig{}, err
	}
	return p.sign(msg, aux), nil
}
