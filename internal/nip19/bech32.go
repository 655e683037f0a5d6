package nip19

import (
	"errors"
	"strings"
)

// maxText is the longest text in characters that is read; NIP-19 asks for no more than 5,000.
const maxText = 5000

const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

var (
	errCase     = errors.New("upper and lower case are mixed")
	errFormat   = errors.New("not bech32")
	errChecksum = errors.New("the checksum is wrong: a character is mistyped or missing")
	errPadding  = errors.New("the last character holds bits that mean nothing")
)

// decode reads a bech32 text (BIP-173, without its bound of 90 characters) into its prefix, in lower case, and its bytes.
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
	data, err = regroup(values[:len(values)-checksumLen])
	return lower[:at], data, err
}

const checksumLen = 6

// checksum is the remainder of prefix and values by the code's generator; 1 where nothing is wrong.
func checksum(prefix string, values []byte) uint32 {
	sum := uint32(1)
	add := func(v byte) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
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

// regroup makes bytes of groups of five bits. What is left over must be fewer than five bits, all zero.
func regroup(groups []byte) ([]byte, error) {
	out := make([]byte, 0, len(groups)*5/8)
	acc, bits := uint32(0), 0
	for _, g := range groups {
		acc, bits = acc<<5|uint32(g), bits+5
		if bits >= 8 {
			bits -= 8
			out = append(out, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	if bits >= 5 || acc != 0 {
		return nil, errPadding
	}
	return out, nil
}
