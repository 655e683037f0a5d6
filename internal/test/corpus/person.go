package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// First numbers of the groups of people. They are so far apart that groups do not overlap.
const (
	firstOwner       = 0
	firstLoneOwner   = 1 << 24 // owner of one repository only
	firstContributor = 2 << 24
	firstStranger    = 3 << 24 // author of noise
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

// contributors returns how many people there are beside the owners.
func (g *generator) contributors() int { return max(5, g.o.Roots/10+g.o.Repositories/5) }

// npub returns the public key as clone URLs have it.
func (p *person) npub() string { return nip19.Npub(p.pk) }
