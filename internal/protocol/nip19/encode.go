package nip19

import "github.com/graspd/graspd/internal/protocol/nostr"

// Npub returns the npub of a public key, as people write the key.
func Npub(pk nostr.PubKey) string { return encode("npub", pk) }

func encode(prefix string, b [32]byte) string {
	groups, rest, bits := regroup(b[:], 8, 5)
	groups = append(groups, byte(rest<<(5-bits))) // 256 is no multiple of five: one bit is left
	sum := checksum(prefix, append(groups, make([]byte, checksumLen)...)) ^ 1
	for i := range checksumLen {
		groups = append(groups, byte(sum>>(5*(checksumLen-1-i))&31))
	}
	out := []byte(prefix + "1")
	for _, g := range groups {
		out = append(out, charset[g])
	}
	return string(out)
}
