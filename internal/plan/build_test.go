package plan_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"graspd/internal/grasp"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/plan"
)

// us is how announcements name this relay.
const us = "wss://relay.example.org"

func service(t testing.TB) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// key makes public keys that tell their number.
func key(n int) nostr.PubKey {
	var pk nostr.PubKey
	binary.BigEndian.PutUint32(pk[:], uint32(n)+1)
	return pk
}

// mint makes events with ids of their own; nothing here checks signatures.
type mint struct{ n uint64 }

func (m *mint) event(k nostr.Kind, author nostr.PubKey, created int64, tags ...nostr.Tag) *nostr.Event {
	m.n++
	e := &nostr.Event{Kind: k, PubKey: author, CreatedAt: created, Tags: tags}
	binary.BigEndian.PutUint64(e.ID[:], m.n*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(e.ID[24:], m.n)
	return e
}

func (m *mint) announce(author nostr.PubKey, d string, created int64, relays []string, maintainers ...nostr.PubKey) *nostr.Event {
	tags := []nostr.Tag{{"d", d}, append(nostr.Tag{"relays"}, relays...)}
	if len(maintainers) > 0 {
		t := nostr.Tag{"maintainers"}
		for _, pk := range maintainers {
			t = append(t, pk.String())
		}
		tags = append(tags, t)
	}
	return m.event(nip34.KindRepository, author, created, tags...)
}

// identifier is one of few d, of which one is empty.
func identifier(n int) string { return [...]string{"", "d1", "d2"}[n] }

func address(author nostr.PubKey, d string) string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: author, D: d}.String()
}

func (m *mint) issue(created int64, repos ...string) *nostr.Event {
	var tags []nostr.Tag
	for _, a := range repos {
		tags = append(tags, nostr.Tag{"a", a})
	}
	return m.event(nip34.KindIssue, key(999), created, tags...)
}

func relay(n int) string { return fmt.Sprintf("wss://r%d.example.net", n) }

// collect applies Changed to what was handed out before, without relays that
// nothing names any more.
func collect(d *plan.Desired, now int, wants map[plan.URL]*plan.Want) (changed []plan.URL) {
	for u, w := range d.Changed(minutes(now)) {
		changed = append(changed, u)
		if w.Empty() && !w.Bootstrap {
			delete(wants, u)
		} else {
			wants[u] = w
		}
	}
	return changed
}
