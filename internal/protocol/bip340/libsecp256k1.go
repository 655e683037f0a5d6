//go:build libsecp256k1

package bip340

/*
#cgo LDFLAGS: -lsecp256k1
#cgo noescape graspd_verify
#cgo nocallback graspd_verify
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>

static int graspd_verify(const unsigned char *pk, const unsigned char *msg, size_t n, const unsigned char *sig) {
	secp256k1_xonly_pubkey key;
	return secp256k1_xonly_pubkey_parse(secp256k1_context_static, &key, pk) &&
		secp256k1_schnorrsig_verify(secp256k1_context_static, sig, msg, n, &key);
}
*/
import "C"

import "unsafe"

// Verify reports whether sig, the bytes of R and then those of s, is a signature of msg by the key with that x coordinate.
// In this build libsecp256k1 decides.
func Verify(pk *[32]byte, msg []byte, sig *[64]byte) bool {
	bytes := func(p *byte) *C.uchar { return (*C.uchar)(unsafe.Pointer(p)) }
	return C.graspd_verify(bytes(&pk[0]), bytes(unsafe.SliceData(msg)), C.size_t(len(msg)), bytes(&sig[0])) == 1
}
