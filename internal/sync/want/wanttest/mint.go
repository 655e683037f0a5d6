package wanttest

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Us is how announcements name this relay.
const Us = "wss://Relay.example.org"

// Service is this relay.
func Service(t testing.TB) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Key makes public keys that tell their number.
func Key(n int) nostr.PubKey {
	var pk nostr.PubKey
	binary.BigEndian.PutUint32(pk[:], uint32(n)+1)
	return pk
}

// Mint makes events with ids of their own, which follow from N; nothing here checks signatures.
type Mint struct{ N uint64 }

// Event makes one of that kind.
func (m *Mint) Event(k nostr.Kind, author nostr.PubKey, created int64, tags ...nostr.Tag) *nostr.Event {
	m.N++
	e := &nostr.Event{Kind: k, PubKey: author, CreatedAt: created, Tags: tags}
	binary.BigEndian.PutUint64(e.ID[:], m.N*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(e.ID[24:], m.N)
	return e
}

// Announce makes an announcement.
func (m *Mint) Announce(author nostr.PubKey, d string, created int64, relays []string, maintainers ...nostr.PubKey) *nostr.Event {
	tags := []nostr.Tag{{"d", d}, append(nostr.Tag{"relays"}, relays...)}
	if len(maintainers) > 0 {
		t := nostr.Tag{"maintainers"}
		for _, pk := range maintainers {
			t = append(t, pk.String())
		}
		tags = append(tags, t)
	}
	return m.Event(nip34.KindRepository, author, created, tags...)
}

// Identifier is one of few d, of which one is empty.
func Identifier(n int) string { return [...]string{"", "d1", "d2"}[n] }

// Address is that of a repository.
func Address(author nostr.PubKey, d string) string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: author, D: d}.String()
}

// Issue makes a root event of repositories.
func (m *Mint) Issue(created int64, repos ...string) *nostr.Event {
	var tags []nostr.Tag
	for _, a := range repos {
		tags = append(tags, nostr.Tag{"a", a})
	}
	return m.Event(nip34.KindIssue, Key(999), created, tags...)
}

// Relay is the URL of another relay.
func Relay(n int) string { return fmt.Sprintf("wss://r%d.example.net", n) }

// Collect applies Changed to what was handed out before, without relays that
// nothing names any more.
func Collect(d *want.Desired, now int, wants map[want.URL]*want.Want) (changed []want.URL) {
	for u, w := range d.Changed(Minutes(now)) {
		changed = append(changed, u)
		if w.Empty() && !w.Bootstrap {
			delete(wants, u)
		} else {
			wants[u] = w
		}
	}
	return changed
}

// Minutes is so many of them.
func Minutes(n int) time.Duration { return time.Duration(n) * time.Minute }
