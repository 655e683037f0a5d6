package nip34_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	oid  = strings.Repeat("0123456789", 4)
	oid2 = strings.Repeat("ab", 32)
)

// key is the public key of a person by name, id an event id by name.
func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }
func id(name string) nostr.ID      { return nostr.ID(sha256.Sum256([]byte(name))) }

func tag(values ...string) nostr.Tag { return values }

// event is an event by alice with the id "event".
func event(kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return &nostr.Event{ID: id("event"), PubKey: key("alice"), CreatedAt: 1000, Kind: kind, Tags: tags, Content: "text"}
}

func repo(author, d string) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: d}
}

// wantErr reports whether got is want, which may be nil.
func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}

func TestKinds(t *testing.T) {
	for k := range nostr.Kind(40000) {
		root := k == 1617 || k == 1618 || k == 1619 || k == 1621
		if nip34.Is(k, nip34.Root) != root {
			t.Errorf("IsRoot(%d) = %v", k, !root)
		}
		status := k == 1630 || k == 1631 || k == 1632 || k == 1633
		if nip34.Is(k, nip34.Standing) != status {
			t.Errorf("IsStatus(%d) = %v", k, !status)
		}
	}
}
