package bip340_test

import (
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// FuzzVerify has both verifiers judge a genuine signature, what becomes of it, its key and its message when bytes of them
// are changed, and the bytes as they are.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("a key"), []byte("a nonce"), []byte("a message"), []byte{}, []byte{})
	f.Add([]byte{1}, []byte{1}, []byte{}, []byte{0, 1}, []byte{0xff, 0xff})
	f.Add([]byte{7}, []byte{9}, []byte("x"), []byte{63, 1, 64, 0x80, 95, 1}, make([]byte, 96))
	f.Fuzz(func(t *testing.T, key, nonce, msg, changes, raw []byte) {
		var secret, k secp256k1.ModNScalar
		secret.SetByteSlice(key)
		k.SetByteSlice(nonce)
		if secret.IsZero() || k.IsZero() {
			return
		}
		s := newSigner(&secret)
		pk, sig := s.public, s.sign(msg, &k)
		if !same(t, &pk, msg, &sig) {
			t.Fatalf("a genuine signature of %x by %x is taken for another", msg, key)
		}
		// Each pair changes one byte of the signature, the key or the message.
		for ; len(changes) > 1; changes = changes[2:] {
			switch at := int(changes[0]); {
			case at < 64:
				sig[at] ^= changes[1]
			case at < 96:
				pk[at-64] ^= changes[1]
			case len(msg) > 0:
				msg[at%len(msg)] ^= changes[1]
			}
			same(t, &pk, msg, &sig)
		}
		if len(raw) >= 96 {
			pk, sig = [32]byte(raw), [64]byte(raw[32:])
			same(t, &pk, msg, &sig)
		}
	})
}
