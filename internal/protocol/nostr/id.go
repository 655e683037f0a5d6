package nostr

import (
	"bytes"
	"encoding/hex"
	"errors"
)

// ErrHex says that a text is not lower-case hex of the right length (NIP-01 allows no other form).
var ErrHex = errors.New("not lower-case hex of the right length")

// ID is the SHA-256 of an event's canonical serialisation (NIP-01).
type ID [32]byte

// PubKey is the x coordinate of a secp256k1 point, as BIP-340 has it. Any 32 bytes can stand here: only the check of a signature shows
// whether they name a point.
type PubKey [32]byte

// Sig is a BIP-340 signature over the 32 bytes of an ID.
type Sig [64]byte

// ParseID reads 64 lower-case hex digits.
func ParseID(s string) (ID, error) {
	var v ID
	if !decodeHex(v[:], s) {
		return ID{}, ErrHex
	}
	return v, nil
}

// ParsePubKey reads 64 lower-case hex digits. ParsePubKey does not check that the digits name a point of the curve.
func ParsePubKey(s string) (PubKey, error) {
	var v PubKey
	if !decodeHex(v[:], s) {
		return PubKey{}, ErrHex
	}
	return v, nil
}

// String returns the id in lower-case hex.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// String returns the public key in lower-case hex.
func (p PubKey) String() string { return hex.EncodeToString(p[:]) }

// String returns the signature in lower-case hex.
func (s Sig) String() string { return hex.EncodeToString(s[:]) }

// Compare orders ids by their bytes, which is also the order of their hex.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Compare orders public keys by their bytes.
func (p PubKey) Compare(other PubKey) int { return bytes.Compare(p[:], other[:]) }

const hexDigits = "0123456789abcdef"

// decodeHex fills dst from exactly 2*len(dst) lower-case hex digits and reports whether it could.
func decodeHex(dst []byte, s string) bool {
	if len(s) != 2*len(dst) {
		return false
	}
	for i := range dst {
		hi, lo := hexDigit(s[2*i]), hexDigit(s[2*i+1])
		if hi|lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}

// hexDigit returns the value of a lower-case hex digit, or 0xff for any other byte. It computes the value instead of
// branching on digit or letter: the two are mixed at random in hex, and mispredicted branches cost much.
func hexDigit(c byte) byte {
	v := (c&15 + 9*(c>>6)) & 15
	if hexDigits[v] != c {
		return 0xff
	}
	return v
}
