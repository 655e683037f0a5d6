package nip19

import "graspd/internal/nostr"

// Npub is the public key as people write it.
func Npub(pk nostr.PubKey) string {
	const prefix = "npub"
	groups := make([]byte, 0, 58)
	acc, bits := uint32(0), 0
	for _, b := range pk {
		acc, bits = acc<<8|uint32(b), bits+8
		for bits >= 5 {
			bits -= 5
			groups = append(groups, byte(acc>>bits&31))
		}
	}
	groups = append(groups, byte(acc<<(5-bits)&31)) // 256 is no multiple of five: one bit is left
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
