//go:build !libsecp256k1

package bip340

// Verify reports whether sig, the bytes of R and then those of s, is a signature of msg by the key with that x coordinate.
func Verify(pk *[32]byte, msg []byte, sig *[64]byte) bool { return verifyInGo(pk, msg, sig) }
