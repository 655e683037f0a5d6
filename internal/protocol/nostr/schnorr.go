package nostr

import "github.com/graspd/graspd/internal/protocol/bip340"

// Schnorr is the Verifier that NIP-01 asks for: BIP-340 over secp256k1.
type Schnorr struct{}

// Verify reports whether sig is a valid BIP-340 signature by pk over the 32 bytes of id.
func (Schnorr) Verify(pk PubKey, id ID, sig Sig) bool {
	return bip340.Verify((*[32]byte)(&pk), id[:], (*[64]byte)(&sig))
}
