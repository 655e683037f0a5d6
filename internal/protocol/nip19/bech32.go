package nip19

import (
	"errors"
	"strings"
)

// maxText is the longest text in characters that decode reads; NIP-19 asks for no more than 5,000.
const maxText = 5000

const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

var (
	errCase     = errors.New("upper and lower case are mixed")
	errFormat   = errors.New("not bech32")
	errChecksum = errors.New("the checksum is wrong: a character is mistyped or missing")
	errPadding  = errors.New("the last character holds bits that mean nothing")
)

// decode reads a bech32 text (BIP-173, but without its bound of 90 characters). It returns the prefix in lower case, and the bytes.
func decode(s string) (prefix string, data []byte, err error) {
	outside := func(c rune) bool { return c < '!' || c > '~' }
	if len(s) > maxText || strings.ContainsFunc(s, outside) {
		return "", nil, errFormat
	}
	lower := strings.ToLower(s)
	if lower != s && strings.ToUpper(s) != s {
		return "", nil, errCase
	}
	at := strings.LastIndexByte(lower, '1')
	if at < 1 || len(lower)-at-1 < checksumLen {
		return "", nil, errFormat
	}
	values := make([]byte, 0, len(lower)-at-1)
	for _, c := range []byte(lower[at+1:]) {
		v := strings.IndexByte(charset, c)
		if v < 0 {
			return "", nil, errFormat
		}
		values = append(values, byte(v))
	}
	if checksum(lower[:at], values) != 1 {
		return "", nil, errChecksum
	}
	data, err = bytesOf(values[:len(values)-checksumLen])
	return lower[:at], data, err
}

const checksumLen = 6

// remainders holds, for each value of the five bits that leave the sum, what these change in the sum.
var remainders = func() (all [32]uint32) {
	for top := range all {
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				all[top] ^= g
			}
		}
	}
	return all
}()

// checksum returns the remainder of prefix and values by the generator of the code. It is 1 for a right text.
func checksum(prefix string, values []byte) uint32 {
	sum := uint32(1)
	add := func(v byte) { sum = sum&0x1ffffff<<5 ^ uint32(v) ^ remainders[sum>>25] }
	for i := range len(prefix) {
		add(prefix[i] >> 5)
	}
	add(0)
	for i := range len(prefix) {
		add(prefix[i] & 31)
	}
	for _, v := range values {
		add(v)
	}
	return sum
}

// bytesOf makes bytes of groups of five bits. It fails where five or more bits are left over, or bits that are not zero.
func bytesOf(groups []byte) ([]byte, error) {
	out, rest, bits := regroup(groups, 5, 8)
	if bits >= 5 || rest != 0 {
		return nil, errPadding
	}
	return out, nil
}

// regroup turns groups of from bits into groups of to bits. It returns the bits that are left over, and how many they are.
func regroup(groups []byte, from, to int) (out []byte, rest uint32, bits int) {
	out = make([]byte, 0, len(groups)*from/to+1+checksumLen)
	for _, g := range groups {
		rest, bits = rest<<from|uint32(g), bits+from
		for bits >= to {
			bits -= to
			out = append(out, byte(rest>>bits))
			rest &= 1<<bits - 1
		}
	}
	return out, rest, bits
}
