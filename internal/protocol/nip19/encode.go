package nip19

import "github.com/graspd/graspd/internal/protocol/nostr"

// Npub returns the npub of a public key, as people write the key.
func Npub(pk nostr.PubKey) string { return encode("npub", pk[:]) }

// Nevent returns the name of an event with a relay that has it, whose URL has fewer than 256 bytes.
func Nevent(id nostr.ID, relay string) string {
	data := append([]byte{0, byte(len(id))}, id[:]...)
	return encode("nevent", append(append(data, 1, byte(len(relay))), relay...))
}

func encode(prefix string, b []byte) string {
	groups, rest, bits := regroup(b, 8, 5)
	if bits > 0 {
		groups = append(groups, byte(rest<<(5-bits)))
	}
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
