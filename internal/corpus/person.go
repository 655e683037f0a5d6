package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"graspd/internal/nostr"
)

// Ranges of person numbers, so that the groups do not meet.
const (
	firstOwner       = 0
	firstLoneOwner   = 1 << 24 // owner of one repository only
	firstContributor = 2 << 24
	firstStranger    = 3 << 24 // of noise
)

// person signs events.
type person struct {
	key  nostr.SecretKey
	pk   nostr.PubKey
	hex  string
	name string
	mail string
}

func (g *generator) person(n int) *person {
	if p := g.people[n]; p != nil {
		return p
	}
	b := binary.BigEndian.AppendUint64([]byte("corpus person"), g.o.Seed)
	p := &person{key: sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(n)))}
	p.pk = p.key.PubKey()
	p.hex = p.pk.String()
	r := g.rng("name", n)
	first, last := pick(r, givenNames), pick(r, familyNames)
	p.name = first + " " + last
	p.mail = strings.ToLower(first) + "@" + pick(r, nouns) + ".example"
	g.people[n] = p
	return p
}

func (g *generator) contributor(n int) *person { return g.person(firstContributor + n) }

// contributors is how many people there are beside the owners.
func (g *generator) contributors() int { return max(5, g.o.Roots/10+g.o.Repositories/5) }

const bech32Digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// npub is the public key as clone URLs have it (NIP-19: bech32 of 32 bytes).
func (p *person) npub() string {
	const prefix = "npub"
	var digits []byte
	acc, bits := 0, 0
	for _, b := range p.pk {
		acc, bits = acc<<8|int(b), bits+8
		for bits >= 5 {
			bits -= 5
			digits = append(digits, byte(acc>>bits&31))
		}
	}
	digits = append(digits, byte(acc<<(5-bits)&31))
	out := []byte(prefix + "1")
	for _, d := range append(digits, bech32Checksum(prefix, digits)...) {
		out = append(out, bech32Digits[d])
	}
	return string(out)
}

func bech32Checksum(prefix string, digits []byte) []byte {
	var in []byte
	for i := range len(prefix) {
		in = append(in, prefix[i]>>5)
	}
	in = append(in, 0)
	for i := range len(prefix) {
		in = append(in, prefix[i]&31)
	}
	in = append(append(in, digits...), 0, 0, 0, 0, 0, 0)
	sum := uint32(1)
	for _, v := range in {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, c := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= c
			}
		}
	}
	sum ^= 1
	out := make([]byte, 6)
	for i := range out {
		out[i] = byte(sum >> (5 * (5 - i)) & 31)
	}
	return out
}
